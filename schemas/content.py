"""What a notification says and to which address: the part of every wire type that erasure must reach."""

import msgspec


class Actor(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who caused the event."""

    id: str
    name: str | None = None


class Object(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the event is about."""

    type: str
    id: str


class Content(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Personal data in the clear. `payload` is the producer's JSON as it came; `address` is set on deliveries."""

    payload: msgspec.Raw = msgspec.Raw(b"{}")
    actor: Actor | None = None
    object: Object | None = None
    address: str | None = None


class Sealed(msgspec.Struct, frozen=True):
    """The same encrypted under the user's key. `nonce` and `data` are base64; a repeat gives the same bytes."""

    key_id: str
    nonce: str
    data: str
