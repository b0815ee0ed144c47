"""What a notification says and to which address: the part of every wire type that erasure must reach."""

import msgspec

from schemas.words import Millis


class Actor(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who caused the event."""

    id: str
    name: str | None = None


class Object(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the event is about."""

    type: str
    id: str


class Line(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What one line of a digest is about: one notification, or `count` of them with one aggregation key.

    `payload`, `actor` and `object` are the newest one's, accepted at `at` (ms); `actors` are the distinct ones, newest
    first, as many as are shown, and `others` how many there are besides.
    """

    type: str
    at: Millis
    count: int = 1
    payload: msgspec.Raw = msgspec.Raw(b"{}")
    actor: Actor | None = None
    object: Object | None = None
    actors: tuple[Actor, ...] = ()
    others: int = 0


class Group(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a delivery says that speaks for several notifications.

    Of a digest: its first `lines`, and `more` as the number of notifications that these leave out. Of aggregated
    notifications: no lines, but the distinct `actors`, newest first, as many as are shown, and `others` besides.
    """

    count: int
    lines: tuple[Line, ...] = ()
    more: int = 0
    actors: tuple[Actor, ...] = ()
    others: int = 0


class Content(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Personal data in the clear. `payload` is the producer's JSON as it came; `address` is set on deliveries.

    `group` where it speaks for several notifications.
    """

    payload: msgspec.Raw = msgspec.Raw(b"{}")
    actor: Actor | None = None
    object: Object | None = None
    address: str | None = None
    group: Group | None = None


class Sealed(msgspec.Struct, frozen=True):
    """The same encrypted under the user's key. `nonce` and `data` are base64; a repeat gives the same bytes."""

    key_id: str
    nonce: str
    data: str
