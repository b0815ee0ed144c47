"""What a provider can say to an attempt, in the terms that decide what follows."""

from typing import Literal

import msgspec


class Sent(msgspec.Struct, frozen=True):
    """The provider took it; `message_id` is its own name for it. `segments` of a text message, 0 for all others."""

    message_id: str | None = None
    segments: int = 0


class EndpointGone(msgspec.Struct, frozen=True):
    """The address does not exist (any more): no attempt on it can succeed.

    `since` (ms) is since when, where the provider says so: an endpoint registered after that is another one.
    """

    detail: str
    since: int | None = None


class Refused(msgspec.Struct, frozen=True):
    """This message will never be taken; nothing final is said against the address.

    `about` what: this message; a mailbox that is full for a while; or us as its sender (blocked, reputation).
    """

    detail: str
    about: Literal["message", "mailbox_full", "sender"] = "message"


class TryLater(msgspec.Struct, frozen=True):
    """Not now. `retry_after` in seconds, where the provider names it.

    `about` whom: this endpoint alone (greylisted, throttled), or the provider, which is then left alone by everybody.
    """

    detail: str
    retry_after: float | None = None
    about: Literal["endpoint", "provider"] = "endpoint"


class Misconfigured(msgspec.Struct, frozen=True):
    """The provider refuses us: credentials, permissions, a project that is not there. Somebody has to mend that.

    Nothing is said against message or address: the provider is paused, and the message waits for its deadline.
    """

    detail: str


class Unknown(msgspec.Struct, frozen=True):
    """The connection ended after the message was handed over and before the answer came."""

    detail: str


Answer = Sent | EndpointGone | Refused | TryLater | Misconfigured | Unknown
