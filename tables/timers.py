"""The `timers` table: entries in order of lane and due time, and an index by user and timer id."""

import struct
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from notify_streams.streaming.outgoing import Outgoing
from schemas.codec import pack
from schemas.timers import CancelTimerV1, Entry, MoveTimerV1, Place, PutTimerV1, decode_entry, decode_place
from schemas.words import LANE_BYTES
from tables.by_event import ByEvent
from tables.keys import of_user

_DUE = struct.Struct(">BQ")
_INDEX = b"i"


class Due(NamedTuple):
    """An entry that is due, and where it is."""

    partition: int
    key: bytes
    entry: Entry

    @property
    def at(self) -> int:
        """Since when, ms."""
        return due_of(self.key)


class Timers(ByEvent):
    """All calls are synchronous: within one event nothing else sees a timer half way.

    What one operation writes is taken by the broker as a whole, unless a full record batch ends in the midst of it.
    Even then no crash loses a timer, or leaves the old one beside it: the new entry goes first, the index last.
    """

    def __init__(self, table: Any, prefix: str) -> None:
        super().__init__(table, prefix)
        self._cursors: dict[tuple[int, int], bytes] = {}
        self._sending: dict[tuple[int, bytes], Entry] = {}

    def put(self, partition: int, user: bytes, timer: PutTimerV1, outgoing: Outgoing) -> bool:
        """Add or replace; whether it was new. One of an older revision than the stored one is ignored."""
        place = self._place(partition, user, timer.timer_id)
        if place is not None and place.revision > timer.revision and self.get(partition, place.key) is not None:
            return False
        key = _entry_key(LANE_BYTES[timer.lane], timer.due_at, user, timer.timer_id)
        entry = Entry(user, timer.timer_id, timer.revision, timer.target, bytes(timer.payload))
        self._enter(partition, key, entry, place, outgoing)
        return place is None

    def move(self, partition: int, user: bytes, move: MoveTimerV1, outgoing: Outgoing) -> bool:
        """Another due time, and where given another payload; whether there was such a timer of no newer revision."""
        place = self._place(partition, user, move.timer_id)
        if place is None or place.revision > move.revision:
            return False
        key = _entry_key(place.key[0], move.due_at, user, move.timer_id)
        value = self.get(partition, place.key)
        if value is None:
            return False
        old = decode_entry(value)
        payload = old.payload if move.payload is msgspec.UNSET else bytes(move.payload)
        entry = Entry(user, move.timer_id, move.revision, old.target, payload)
        self._enter(partition, key, entry, place, outgoing)
        return True

    def cancel(self, partition: int, user: bytes, cancel: CancelTimerV1, outgoing: Outgoing) -> bool:
        """Forget the timer; whether it was there, of no newer revision."""
        place = self._place(partition, user, cancel.timer_id)
        if place is None or place.revision > cancel.revision or self.get(partition, place.key) is None:
            return False
        self._remove(partition, place.key, outgoing)
        self.delete(partition, _index_key(user, cancel.timer_id), outgoing)
        return True

    def due_since(self, partition: int, now: int) -> int | None:
        """When (ms) what waits longest to be taken was due; None where nothing is. A read: allowed outside agents."""
        firsts = (self._slice(partition, rank, now, 1) for rank in LANE_BYTES.values())
        return min((due_of(rows[0][0]) for rows in firsts if rows), default=None)

    def take(self, partitions: Sequence[int], now: int, limit: int) -> list[Due]:
        """At most `limit` entries that are due: HIGH of all partitions before NORMAL of any, and that before LOW.

        Within a lane every partition has the same share, in order of due time. They are for the caller to send, and
        then to name to `released`: the next call looks behind them only for what was put or moved since. (The place
        from which to look on is noted here and not when they are released: what is put meanwhile and due earlier
        would be left behind it.)
        """
        taken: list[Due] = []
        for rank in LANE_BYTES.values():
            waiting = list(partitions)
            while waiting and (left := limit - len(taken)):
                share = max(1, left // len(waiting))
                more = [p for p in waiting[:left] if self._take(p, rank, now, share, taken) == share]
                waiting = waiting[left:] + more
        return taken

    def released(self, taken: Iterable[Due], outgoing: Outgoing) -> int:
        """Forget what was taken and is sent, but for what was put or moved meanwhile: it is due anew. How many."""
        count = 0
        for partition, key, entry in taken:
            if self._sending.get((partition, key)) is entry:
                self._remove(partition, key, outgoing)
                place = self._place(partition, entry.user, entry.timer_id)
                if place is not None and place.key == key:
                    self.delete(partition, _index_key(entry.user, entry.timer_id), outgoing)
                count += 1
        return count

    def forget_cursors(self) -> None:
        """After a rebalance another process may have put earlier timers; what was taken and not released is due."""
        self._cursors, self._sending = {}, {}

    def about(self, partition: int) -> int:
        """How many timers wait there, by the database's own estimate. A read: allowed outside agents too."""
        keys = self._table.data._db_for_partition(partition).property_int_value("rocksdb.estimate-num-keys")
        return int(keys or 0) // 2

    def _enter(self, partition: int, key: bytes, entry: Entry, old: Place | None, outgoing: Outgoing) -> None:
        self.write(partition, key, pack(entry), outgoing)
        if old is not None and old.key != key:
            self._remove(partition, old.key, outgoing)
        self.write(partition, _index_key(entry.user, entry.timer_id), pack(Place(key, entry.revision)), outgoing)
        self._sending.pop((partition, key), None)
        self._cursors[partition, key[0]] = min(self._cursor(partition, key[0]), key)

    def _remove(self, partition: int, key: bytes, outgoing: Outgoing) -> None:
        self.delete(partition, key, outgoing)
        self._sending.pop((partition, key), None)

    def _take(self, partition: int, rank: int, now: int, limit: int, taken: list[Due]) -> int:
        found = 0
        while found < limit and (rows := self._slice(partition, rank, now, limit - found)):
            self._cursors[partition, rank] = rows[-1][0] + b"\x00"
            for key, value in rows:
                if (partition, key) not in self._sending:
                    entry = self._sending[partition, key] = decode_entry(value)
                    taken.append(Due(partition, key, entry))
                    found += 1
        return found

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


def is_entry(key: bytes, user: bytes) -> bool:
    """Whether a key of the table, or of its changelog, is that of one of the user's timers, and not of its index."""
    return key[:1] != _INDEX and key[_DUE.size :].startswith(of_user(user, b""))


def _entry_key(rank: int, due_at: int, user: bytes, timer_id: str) -> bytes:
    return _DUE.pack(rank, due_at) + of_user(user, b"", timer_id.encode())


def _index_key(user: bytes, timer_id: str) -> bytes:
    return _INDEX + of_user(user, b"", timer_id.encode())
