"""What must no longer be sent, or only after it is decided again; and what a sender remembers of that."""

import msgspec

from schemas.words import Channel, Millis, Reason


class StopV1(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="stop.v1", tag_field="schema"):
    """Published on `notify.stops`, keyed by user id. Instants are ms since the epoch, UTC.

    `version`: what was decided under an older profile is decided again. `notification_id`: it ends for `reason`, on
    these channels (none named means all). After `until` nothing is under way that it could concern.
    """

    at: Millis
    until: Millis
    version: int = 0
    notification_id: str | None = None
    reason: Reason = Reason.CANCELLED
    channels: tuple[Channel, ...] = ()


class GateStop(msgspec.Struct, frozen=True, array_like=True):
    """One stopped notification in a gate. `until` in ms."""

    until: int
    reason: Reason
    channels: tuple[Channel, ...] = ()


class Gate(msgspec.Struct, frozen=True, array_like=True):
    """Value of a sender's `gates` table, keyed by user id (msgpack): the union of what was said of the user on `stops`.

    `version` holds until `version_until` (ms). `stopped` is keyed by the print of the notification.
    """

    version: int = 0
    version_until: int = 0
    stopped: dict[bytes, GateStop] = {}


OPEN = Gate()
decode_stop = msgspec.json.Decoder(StopV1).decode
decode_gate = msgspec.msgpack.Decoder(Gate).decode
