"""The `gates` table of a sender: what was stopped, by user id."""

from typing import Any

from notify_streams.domain.gate import is_past
from notify_streams.streaming.outgoing import Outgoing
from schemas.codec import pack
from schemas.stops import OPEN, Gate, decode_gate
from tables.by_event import ByEvent

_FIRST, _BEYOND = b"", b"\xff"  # user ids are UTF-8
_FAUSTS_OWN = b"__faust\0offset__"  # no user id: it has a control character


class Gates(ByEvent):
    """All calls are synchronous: within one stop nothing else sees a gate half way."""

    def __init__(self, table: Any, prefix: str) -> None:
        super().__init__(table, prefix)
        self._swept_to: dict[int, bytes] = {}

    def load(self, partition: int, user: bytes) -> Gate:
        """The user's gate, open for somebody of whom nothing was said."""
        value = self.get(partition, user)
        return OPEN if value is None else decode_gate(value)

    def store(self, partition: int, user: bytes, gate: Gate, outgoing: Outgoing) -> None:
        """Replace the user's gate."""
        self.write(partition, user, pack(gate), outgoing)

    def sweep(self, partition: int, now: int, limit: int, outgoing: Outgoing) -> None:
        """Look at the next `limit` users, round and round, and forget those of whom all is past at `now` (ms).

        Whoever writes one gate and sweeps two keeps the table as small as what still holds.
        """
        found = self.items(partition, self._swept_to.get(partition, _FIRST), _BEYOND, limit)
        for user, value in found:
            if user != _FAUSTS_OWN and is_past(decode_gate(value), now):
                self.delete(partition, user, outgoing)
        self._swept_to[partition] = found[-1][0] + b"\0" if len(found) == limit else _FIRST
