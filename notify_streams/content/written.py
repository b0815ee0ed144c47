"""How `catalogue.toml` is written: its tables, their keys, and the kind of each value."""

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from schemas.catalogue import Budget, Category
from schemas.words import Channel, Lane

_AT = re.compile(r"(?P<reason>.*) - at `\$(?:\.(?P<key>\w+))?.*`")
_TOML_AT = re.compile(r"(?P<reason>.*) \((?:at line (?P<line>[0-9]+), column [0-9]+|at end of document)\)", re.DOTALL)
_Shape = TypeVar("_Shape", bound=msgspec.Struct)
_Table = tuple[tuple[str, ...], Mapping[str, Any], type[msgspec.Struct]]


class WrongEntry(Exception):
    """Something in the catalogue that cannot hold; `path` leads to it through tables and keys, and is in the text.

    Where there is no path, `line` may say where it is.
    """

    def __init__(self, path: tuple[str, ...], reason: str, *, text: str = "", line: int | None = None) -> None:
        super().__init__(text or (f"{'.'.join(path)}: {reason}" if path else reason))
        self.path, self.line = path, line


class Entry(msgspec.Struct, kw_only=True):
    """One `[types.NAME]`."""

    category: str
    channels: tuple[Channel, ...]
    priority: Lane = "normal"
    ttl: str = "24h"
    mandatory: bool = False
    digestible: bool = False
    aggregate: bool = False
    fallback: tuple[Channel, ...] = ()
    verifies: bool = False
    templates: str = ""
    sample: dict[str, Any] = {}


class WindowsEntry(msgspec.Struct, frozen=True, kw_only=True):
    """`[windows]`: how digests and aggregations wait."""

    digest_at: str = "08:00"
    wait: str = "5m"
    max_wait: str = "1h"
    max_size: int = 1000
    shown: int = 20


class Tenant(msgspec.Struct, kw_only=True):
    """One `[defaults.tenants.NAME]`."""

    zone: str


class Defaults(msgspec.Struct, frozen=True, kw_only=True):
    """`[defaults]`: what holds of users who did not say."""

    zone: str = "UTC"
    tenants: dict[str, Tenant] = {}


class File(msgspec.Struct, kw_only=True):
    """The whole file."""

    channels: tuple[Channel, ...]
    fallback_locale: str = "en"
    types: dict[str, Entry]
    categories: dict[str, Category]
    budget: Budget = Budget()
    windows: WindowsEntry = WindowsEntry()
    defaults: Defaults = Defaults()


_TABLES: tuple[tuple[str, type[msgspec.Struct]], ...] = (
    ("budget", Budget),
    ("windows", WindowsEntry),
    ("defaults", Defaults),
)
_NAMED: tuple[tuple[tuple[str, ...], type[msgspec.Struct]], ...] = (
    (("types",), Entry),
    (("categories",), Category),
    (("defaults", "tenants"), Tenant),
)


def parsed(text: str) -> File:
    """What the file says, every key known and every value of the right kind; else WrongEntry.

    A mistake in the TOML itself names its line.
    """
    try:
        plain = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _TOML_AT.fullmatch(str(error))
        if found is None:
            raise WrongEntry((), str(error)) from error
        raise WrongEntry((), found["reason"], line=int(found["line"] or len(text.splitlines()))) from error
    tables = [*_tables(plain)]
    _check_names(plain, File, ())
    for path, table, shape in tables:
        _check_names(table, shape, path)
    for path, table, shape in tables:
        _converted(table, shape, path)
    return _converted(plain, File, ())


def _tables(plain: Mapping[str, Any]) -> Iterator[_Table]:
    """The inner ones first: their mistakes are named with the table they are in."""
    for path, shape in _NAMED:
        for name, entry in _under(plain, path).items():
            if isinstance(entry, Mapping):
                yield (*path, name), entry, shape
    for key, shape in _TABLES:
        yield (key,), _under(plain, (key,)), shape


def _under(plain: Mapping[str, Any], path: tuple[str, ...]) -> Mapping[str, Any]:
    inner: Any = plain
    for step in path:
        inner = inner.get(step, {}) if isinstance(inner, Mapping) else {}
    return inner if isinstance(inner, Mapping) else {}


def _check_names(entry: Mapping[str, Any], shape: type[msgspec.Struct], path: tuple[str, ...]) -> None:
    for key in entry:
        if key not in shape.__struct_fields__:
            near = difflib.get_close_matches(key, shape.__struct_fields__, 1, 0.5)
            hint = f"; did you mean {'.'.join((*path, near[0]))}?" if near else ""
            raise WrongEntry((*path, key), "", text=f"unknown key {'.'.join((*path, key))}{hint}")


def _converted(entry: Mapping[str, Any], shape: type[_Shape], path: tuple[str, ...]) -> _Shape:
    try:
        return msgspec.convert(entry, shape)
    except msgspec.ValidationError as error:
        found = _AT.fullmatch(str(error))
        if found is None:
            raise WrongEntry(path, str(error)) from error
        raise WrongEntry((*path, found["key"]) if found["key"] else path, found["reason"]) from error
