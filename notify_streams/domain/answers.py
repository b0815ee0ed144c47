"""What a provider can say to an attempt, in the terms that decide what follows."""

from typing import Literal

import msgspec


class Sent(msgspec.Struct, frozen=True):
    """The provider took it; `message_id` is its own name for it. `segments` of a text message, 0 for all others.

    `detail` where it went out otherwise than it was asked for, such as under another sender.
    """

    message_id: str | None = None
    segments: int = 0
    detail: str = ""


class EndpointGone(msgspec.Struct, frozen=True):
    """The address does not exist (any more): no attempt on it can succeed.

    `since` (ms) is since when, where the provider says so: an endpoint registered after that is another one.
    """

    detail: str
    since: int | None = None


class Refused(msgspec.Struct, frozen=True):
    """This message will never be taken; nothing final is said against the address.

    `about` what: this message; a mailbox that is full for a while; us as its sender (blocked, reputation); or the
    recipient, who has told the provider that nothing more may come from us: the address is suppressed (`opt_out`).
    """

    detail: str
    about: Literal["message", "mailbox_full", "sender", "opted_out"] = "message"


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
