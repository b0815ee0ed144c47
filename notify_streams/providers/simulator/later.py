"""What a provider says of a message after it has taken it: who makes the post, and who sends it when.

Conventions for mail, beside those of `script`: `bounce+...@` comes back, `full+` and `blocked+` too; `complaint+` and
`open+` are delivered first, `delayed+` is delivered in the end, `silent+` is never spoken of; all others are delivered.
"""

from collections.abc import Callable
from typing import Protocol

import msgspec


class Post(msgspec.Struct, frozen=True):
    """One request to the gateway's address for receipts, signed as the vendor signs."""

    body: bytes
    headers: dict[str, str]


class Later(Protocol):
    """Decides by rule, convention or rate which words follow, and posts them."""

    def taken(self, provider: str, recipient: str, post: Callable[[str], Post]) -> None:
        """A message was taken. `post` makes the post for one word, at the time at which it is called.

        Words of mail: delivered, bounced, full, blocked, delayed, complained, opened. Raises KeyError for others.
        """


_BY_CONVENTION = {
    "bounce": ("bounced",),
    "full": ("full",),
    "blocked": ("blocked",),
    "complaint": ("delivered", "complained"),
    "open": ("delivered", "opened"),
    "delayed": ("delayed", "delivered"),
    "silent": (),
}


def words_of_mail(address: str) -> tuple[str, ...]:
    """What follows by convention of the address, in this order."""
    convention, plus, _ = address.lower().partition("+")
    return _BY_CONVENTION.get(convention, ("delivered",)) if plus else ("delivered",)
