"""Which provider of a channel's chain a delivery goes to."""

from collections.abc import Collection, Sequence
from typing import Literal

import msgspec


class By(msgspec.Struct, frozen=True):
    """By this provider. `passed_over` are those before it in the chain that were not asked, with the reason."""

    provider: str
    passed_over: tuple[tuple[str, Literal["failed", "open"]], ...] = ()


class Blocked(msgspec.Struct, frozen=True):
    """Every provider that carries it is open or paused just now."""


class Nobody(msgspec.Struct, frozen=True):
    """No provider of the chain carries it."""


Route = By | Blocked | Nobody


def route(chain: Sequence[str], *, avoid: Collection[str], closed_to: Collection[str]) -> Route:
    """`chain` are the providers that carry the message, in order; `avoid` failed it, `closed_to` take none just now.

    Where all that are left were avoided, the first that takes calls is asked again.
    """
    if not chain:
        return Nobody()
    open_ = [name for name in chain if name not in closed_to]
    if not open_:
        return Blocked()
    fresh = [name for name in open_ if name not in avoid]
    chosen = (fresh or open_)[0]
    before = chain[: list(chain).index(chosen)]
    return By(chosen, tuple((name, "open" if name in closed_to else "failed") for name in before))


def is_left(chain: Sequence[str], *, avoid: Collection[str], closed_to: Collection[str]) -> bool:
    """Whether another provider could still be tried before the delivery has to wait."""
    return any(name not in avoid and name not in closed_to for name in chain)
