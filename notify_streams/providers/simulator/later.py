"""What a provider says of a message after it has taken it: who makes the post, and who sends it when."""

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
