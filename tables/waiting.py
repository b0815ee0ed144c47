"""A user's waiting timers as their changelog tells of them, and what each of them brings back."""

from collections.abc import Iterable

import msgspec

from schemas.deliveries import DeliveryV1
from schemas.notifications import FlushV1, NotificationV1
from schemas.timers import Entry, decode_entry
from schemas.words import LANES, Lane
from tables.timers import due_of, is_entry

_decode = msgspec.json.Decoder(NotificationV1 | FlushV1 | DeliveryV1).decode


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """One timer. `due_at` in ms; `target` is a topic without its prefix; `brings` is a sentence without content.

    `schema`, `type` and `notification_id` are those of the record that it brings back, empty where that has none.
    """

    timer_id: str
    due_at: int
    lane: Lane
    revision: int
    target: str
    brings: str
    schema: str = ""
    type: str = ""
    notification_id: str = ""


class WaitingOf:
    """The fold of one partition's changelog for one user."""

    def __init__(self, user: str) -> None:
        self._user = user.encode()
        self._entries: dict[bytes, bytes] = {}

    def take(self, rows: Iterable[tuple[bytes, bytes | None]]) -> None:
        """The next rows, in their order; those of other users change nothing."""
        for key, value in rows:
            if is_entry(key, self._user):
                if value is None:
                    self._entries.pop(key, None)
                else:
                    self._entries[key] = value

    def all(self) -> list[Waiting]:
        """What waits after the last row, the earliest first."""
        found = [_waiting(key, decode_entry(value)) for key, value in self._entries.items()]
        return sorted(found, key=lambda one: (one.due_at, LANES.index(one.lane), one.timer_id))


def _waiting(key: bytes, entry: Entry) -> Waiting:
    plain = Waiting(
        timer_id=entry.timer_id,
        due_at=due_of(key),
        lane=LANES[key[0]],
        revision=entry.revision,
        target=entry.target,
        brings=f"{len(entry.payload)} bytes for {entry.target}",
    )
    try:
        record = _decode(entry.payload)
    except msgspec.MsgspecError:  # of a newer version, or of somebody else: its place and time are known all the same
        return plain
    match record:
        case NotificationV1():
            channels = " and ".join(record.channels) or "no channel"
            named = {"type": record.type, "notification_id": record.notification_id}
            brings, schema = f"{record.type}, to be decided again for {channels}", "notification.v1"
        case DeliveryV1():
            named = {"type": record.type, "notification_id": record.notification_id}
            where = f"by {record.channel} to {record.endpoint_id}"
            brings, schema = f"{record.type} {where}, attempt {record.attempt}", "delivery.v1"
        case FlushV1():
            named = {}
            brings = f"the end of window {record.number} of {record.window} on {record.channel}"
            schema = "flush.v1"
    return msgspec.structs.replace(plain, brings=brings, schema=schema, **named)
