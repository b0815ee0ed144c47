"""The `user_state` table: one value per user, one read and one write per notification."""

import struct

import msgspec

from notify_streams.domain import dedup
from notify_streams.streaming.outgoing import Outgoing
from schemas.codec import pack
from schemas.user_state import EMPTY, UserState, decode_user_state
from tables.by_event import ByEvent
from tables.keys import of_user

_HOUR = struct.Struct(">I")
_FORGOTTEN_AT_ONCE = 1024


class UserStates(ByEvent):
    """Typed access; keys are user ids: the state under `s`, prints that its row has no room for under `p` and hour.

    Other kinds of keys of the same user have room beside them.
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


def _place(user: bytes, hour: int, print_: bytes) -> bytes:
    return of_user(user, b"p", _HOUR.pack(hour) + print_)
