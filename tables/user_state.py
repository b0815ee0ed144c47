"""The `user_state` table: one value per user, one read and one write per notification."""

import struct

import msgspec

from notify_streams.domain import dedup
from notify_streams.streaming.outgoing import Outgoing
from schemas.codec import pack
from schemas.user_state import EMPTY, UserState, Window, decode_user_state, decode_window
from tables.by_event import ByEvent
from tables.keys import of_user

_HOUR, _NUMBER = struct.Struct(">I"), struct.Struct(">Q")
_FORGOTTEN_AT_ONCE = 1024
_MOST_WINDOWS = 10_000


class UserStates(ByEvent):
    """Typed access; keys are user ids: the state under `s`, prints that its row has no room for under `p` and hour.

    A window is under `v`, its key (9 bytes) and number, what waits in it under `w`, the same and the item's id.
    """

    def load(self, partition: int, user: bytes) -> UserState:
        """The user's state, empty for somebody new."""
        value = self.get(partition, of_user(user, b"s"))
        return EMPTY if value is None else decode_user_state(value)

    def recalled(self, partition: int, user: bytes, state: UserState, print_: bytes) -> UserState:
        """The state with this print back in its row, if it is one of the older ones."""
        if dedup.find(state.seen, print_) is None:
            for hour in reversed(state.older):
                entry = self.get(partition, _place(user, hour, print_))
                if entry is not None:
                    return msgspec.structs.replace(state, seen=entry + state.seen)
        return state

    def store(self, partition: int, user: bytes, state: UserState, outgoing: Outgoing) -> None:
        """Replace the user's state."""
        if state.older or len(state.seen) > dedup.MOST:
            state = self._relieved(partition, user, state, outgoing)
        self.write(partition, of_user(user, b"s"), pack(state), outgoing)

    def windows(self, partition: int, user: bytes, key: bytes = b"") -> list[Window]:
        """All windows of a user and key (9 bytes), or of all keys; those of a key by number."""
        first, after = of_user(user, b"v", key), of_user(user, b"v", key + b"\xff" * 18)
        return [decode_window(value) for _, value in self.items(partition, first, after, _MOST_WINDOWS)]

    def window(self, partition: int, user: bytes, key: bytes, number: int) -> Window | None:
        """One of them, None where it is forgotten."""
        value = self.get(partition, of_user(user, b"v", key + _NUMBER.pack(number)))
        return None if value is None else decode_window(value)

    def keep(self, partition: int, user: bytes, key: bytes, window: Window, outgoing: Outgoing) -> None:
        """Add or replace a window of this key."""
        self.write(partition, of_user(user, b"v", key + _NUMBER.pack(window.number)), pack(window), outgoing)

    def collect(
        self, partition: int, user: bytes, window: bytes, number: int, id_: bytes, item: bytes, outgoing: Outgoing
    ) -> None:
        """Keep an item of a window, by its own id: before what tells of it, so that it is never missing."""
        self.write(partition, _of_window(user, window, number) + id_, item, outgoing)

    def collected(self, partition: int, user: bytes, window: bytes, number: int, limit: int) -> list[bytes]:
        """At most `limit` items of a window."""
        first, after = _of_window(user, window, number), _of_window(user, window, number + 1)
        return [value for _, value in self.items(partition, first, after, limit)]

    def empty(self, partition: int, user: bytes, window: bytes, number: int, outgoing: Outgoing) -> None:
        """Delete the items of a window."""
        first, after = _of_window(user, window, number), _of_window(user, window, number + 1)
        for key, _ in self.items(partition, first, after, _FORGOTTEN_AT_ONCE * 2):
            self.delete(partition, key, outgoing)

    def forget(self, partition: int, user: bytes, window: bytes, number: int, outgoing: Outgoing) -> None:
        """Delete a window, and what a crash may have left in it."""
        self.empty(partition, user, window, number, outgoing)
        self.delete(partition, of_user(user, b"v", window + _NUMBER.pack(number)), outgoing)

    def _relieved(self, partition: int, user: bytes, state: UserState, outgoing: Outgoing) -> UserState:
        """Its row bounded, and its oldest hour forgotten once that is past: a bounded piece at a time."""
        moved, row = dedup.overflow(state.seen)
        hours = {*state.older, *map(dedup.hour_of, moved)}
        for entry in moved:
            self.write(partition, _place(user, dedup.hour_of(entry), entry[:10]), entry, outgoing)
        oldest = min(hours)
        if dedup.is_past(oldest, dedup.hour_of(row)) and self._forgotten(partition, user, oldest, outgoing):
            hours.remove(oldest)
        return msgspec.structs.replace(state, seen=row, older=tuple(sorted(hours)))

    def _forgotten(self, partition: int, user: bytes, hour: int, outgoing: Outgoing) -> bool:
        first, after = _place(user, hour, b""), _place(user, hour + 1, b"")
        found = self.items(partition, first, after, _FORGOTTEN_AT_ONCE)
        for key, _ in found:
            self.delete(partition, key, outgoing)
        return len(found) < _FORGOTTEN_AT_ONCE


def _of_window(user: bytes, window: bytes, number: int) -> bytes:
    return of_user(user, b"w", window + _NUMBER.pack(number))


def _place(user: bytes, hour: int, print_: bytes) -> bytes:
    return of_user(user, b"p", _HOUR.pack(hour) + print_)
