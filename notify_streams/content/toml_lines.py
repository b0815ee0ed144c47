"""On which line of a TOML file an entry stands."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def line_of(text: str, path: Sequence[str]) -> int | None:
    """The line, from 1, of the entry that `path` leads to through tables and keys, or of the nearest one around it.

    `text` is valid TOML. None where not even the first step is written.
    """
    wanted = tuple(path)
    table: tuple[str, ...] = ()
    deepest, found = 0, None
    for number, header, plain in _statements(text):
        steps = _steps(plain, wanted if header else wanted[len(table) :])
        if header:
            table = _whole(plain)
            depth = steps if table == wanted[:steps] else 0
        else:
            depth = len(table) + steps if steps and table == wanted[: len(table)] else 0
        if depth > deepest:
            deepest, found = depth, number
    return found


def _statements(text: str) -> Iterator[tuple[int, bool, Mapping[str, Any]]]:
    """Each table's header and each key with its value: the first line, whether it is a header, what it says alone."""
    held: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        held.append(line)
        try:
            plain = tomllib.loads("\n".join(held))
        except tomllib.TOMLDecodeError:
            continue  # an array or a text that goes on
        if plain:
            yield number - len(held) + 1, held[0].lstrip().startswith("["), plain
        held = []


def _steps(plain: Any, path: Sequence[str]) -> int:
    """How many steps of the path lead somewhere in here."""
    taken = 0
    while taken < len(path) and isinstance(plain, Mapping) and path[taken] in plain:
        plain = plain[path[taken]]
        taken += 1
    return taken


def _whole(plain: Any) -> tuple[str, ...]:
    """The steps that a header names."""
    steps: tuple[str, ...] = ()
    while isinstance(plain, Mapping) and plain:
        step, plain = next(iter(plain.items()))
        steps = (*steps, step)
    return steps
