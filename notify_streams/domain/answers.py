"""What a provider can say to an attempt, in the terms that decide what follows."""

import msgspec


class Sent(msgspec.Struct, frozen=True):
    """The provider took it; `message_id` is its own name for it."""

    message_id: str | None = None


class EndpointGone(msgspec.Struct, frozen=True):
    """The address does not exist (any more): no attempt on it can succeed."""

    detail: str


class Refused(msgspec.Struct, frozen=True):
    """This message will never be taken; nothing is said against the address."""

    detail: str


class TryLater(msgspec.Struct, frozen=True):
    """Not now. `retry_after` in seconds, where the provider names it."""

    detail: str
    retry_after: float | None = None


class Unknown(msgspec.Struct, frozen=True):
    """The connection ended after the message was handed over and before the answer came."""

    detail: str


Answer = Sent | EndpointGone | Refused | TryLater | Unknown
