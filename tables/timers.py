"""The `timers` table: entries in order of lane and due time, and an index by user and timer id."""

import struct
from typing import Any

import msgspec

from notify_streams.streaming.outgoing import Outgoing
from schemas.codec import pack
from schemas.timers import CancelTimerV1, Entry, MoveTimerV1, Place, PutTimerV1, decode_entry, decode_place
from schemas.words import LANE_BYTES
from tables.by_event import ByEvent
from tables.keys import of_user

_DUE = struct.Struct(">BQ")
Due = tuple[bytes, Entry]


class Timers(ByEvent):
    """All calls are synchronous: within one event nothing else sees a timer half way."""

    def __init__(self, table: Any, prefix: str) -> None:
        super().__init__(table, prefix)
        self._cursors: dict[tuple[int, int], bytes] = {}

    def put(self, partition: int, user: bytes, timer: PutTimerV1, outgoing: Outgoing) -> bool:
        """Add or replace; whether it was new. One of an older revision than the stored one is ignored."""
        place = self._place(partition, user, timer.timer_id)
        if place is not None and place.revision > timer.revision:
            return False
        key = _entry_key(LANE_BYTES[timer.lane], timer.due_at, user, timer.timer_id)
        entry = Entry(user, timer.timer_id, timer.revision, timer.target, bytes(timer.payload))
        if place is not None and place.key != key:
            self.delete(partition, place.key, outgoing)
        self._enter(partition, key, entry, outgoing)
        return place is None

    def move(self, partition: int, user: bytes, move: MoveTimerV1, outgoing: Outgoing) -> bool:
        """Another due time, and where given another payload; whether there was such a timer of no newer revision."""
        place = self._place(partition, user, move.timer_id)
        if place is None or place.revision > move.revision:
            return False
        value = self.get(partition, place.key)
        if value is None:
            return False
        old = decode_entry(value)
        payload = old.payload if move.payload is msgspec.UNSET else bytes(move.payload)
        key = _entry_key(place.key[0], move.due_at, user, move.timer_id)
        if key != place.key:
            self.delete(partition, place.key, outgoing)
        self._enter(partition, key, Entry(user, move.timer_id, move.revision, old.target, payload), outgoing)
        return True

    def cancel(self, partition: int, user: bytes, cancel: CancelTimerV1, outgoing: Outgoing) -> bool:
        """Forget the timer; whether it was there, of no newer revision."""
        place = self._place(partition, user, cancel.timer_id)
        if place is None or place.revision > cancel.revision:
            return False
        self.delete(partition, place.key, outgoing)
        self.delete(partition, _index_key(user, cancel.timer_id), outgoing)
        return True

    def is_due(self, partition: int, now: int) -> bool:
        """Whether anything waits to be released. A read: allowed outside agents too."""
        return any(self._slice(partition, rank, now, 1) for rank in LANE_BYTES.values())

    def due(self, partition: int, now: int, limit: int) -> list[Due]:
        """At most `limit` entries that are due, HIGH first, then by time.

        They are for the caller to send and release: the next call looks behind them only for what was put or moved
        since. (The place from which to look on is noted here and not when they are released: what is put meanwhile
        and due earlier would be left behind it.)
        """
        found: list[Due] = []
        for rank in LANE_BYTES.values():
            if len(found) < limit:
                rows = self._slice(partition, rank, now, limit - len(found))
                found += [(key, decode_entry(value)) for key, value in rows]
                if rows:
                    self._cursors[partition, rank] = rows[-1][0] + b"\x00"
        return found

    def released(self, partition: int, entries: list[Due], outgoing: Outgoing) -> None:
        """Delete what was sent, unless it was put or moved again meanwhile."""
        for key, entry in entries:
            place = self._place(partition, entry.user, entry.timer_id)
            if place is not None and place.key == key and place.revision == entry.revision:
                self.delete(partition, _index_key(entry.user, entry.timer_id), outgoing)
                self.delete(partition, key, outgoing)

    def forget_cursors(self) -> None:
        """After a rebalance another process may have put earlier timers."""
        self._cursors = {}

    def _enter(self, partition: int, key: bytes, entry: Entry, outgoing: Outgoing) -> None:
        self.write(partition, key, pack(entry), outgoing)
        self.write(partition, _index_key(entry.user, entry.timer_id), pack(Place(key, entry.revision)), outgoing)
        self._cursors[partition, key[0]] = min(self._cursor(partition, key[0]), key)

    def _slice(self, partition: int, rank: int, now: int, limit: int) -> list[tuple[bytes, bytes]]:
        return self.items(partition, self._cursor(partition, rank), _DUE.pack(rank, now + 1), limit)

    def _cursor(self, partition: int, rank: int) -> bytes:
        return self._cursors.get((partition, rank), bytes([rank]))

    def _place(self, partition: int, user: bytes, timer_id: str) -> Place | None:
        value = self.get(partition, _index_key(user, timer_id))
        return None if value is None else decode_place(value)


def due_of(key: bytes) -> int:
    """When an entry is due, ms."""
    due: int = _DUE.unpack_from(key)[1]
    return due


def _entry_key(rank: int, due_at: int, user: bytes, timer_id: str) -> bytes:
    return _DUE.pack(rank, due_at) + of_user(user, b"", timer_id.encode())


def _index_key(user: bytes, timer_id: str) -> bytes:
    return b"i" + of_user(user, b"", timer_id.encode())
