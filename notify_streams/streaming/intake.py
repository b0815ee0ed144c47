"""What has arrived for one agent and waits for it: whole fetches, handed over without a look at each record."""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, MutableMapping
from typing import Any

from faust.types import TP

from notify_streams.streaming.ledger import Ledger
from notify_streams.streaming.records import Record

_LOW, _BUSY = 0.4, 4
_UNIT_BYTES = 4096


class Batch(list[Record]):
    """Records in the order of their partitions; whoever took them says how it ended, once.

    `held` tells `batches` that somebody else will say so.
    """

    def __init__(self) -> None:
        super().__init__()
        self.held = False
        self._runs: list[tuple[Ledger, int, int]] = []

    def extend_by(self, tp: TP, fetched: Any, ledger: Ledger) -> None:
        """One run of a partition, of at least one record."""
        start = len(self)
        self.extend([Record(tp, record) for record in fetched])
        first = self[start].offset
        ledger.take(first)
        self._runs.append((ledger, first, self[-1].offset + 1))

    def done(self) -> None:
        """All that follows from these records is acknowledged by the broker."""
        for ledger, first, after in self._runs:
            ledger.finish(first, after)

    def give_up(self) -> None:
        """They were not processed, and nobody does it any more."""
        for ledger, first, _ in self._runs:
            ledger.give_up(first)


class Intake:
    """The buffer between the consumer and one agent. `full` and `room` tell the consumer to pause and go on."""

    def __init__(
        self, ledgers: MutableMapping[TP, Ledger], size: int, full: Callable[[TP], None], room: Callable[[TP], None]
    ) -> None:
        self._ledgers, self._high, self._low = ledgers, size, int(size * _LOW)
        self._tell_full, self._tell_room = full, room
        self._fetches: deque[tuple[TP, list[Any], int]] = deque()
        self._paused: set[TP] = set()
        self._waiting = 0  # in records, a large one counting as several: 4,096 of 256 KiB would be a gigabyte
        self._arrived = asyncio.Event()
        self._clock, self._taken_at = time.monotonic, -math.inf

    def put(self, tp: TP, records: list[Any]) -> None:
        """One fetch of one partition, of at least one record."""
        size = max(len(records), sum([record.serialized_value_size for record in records]) // _UNIT_BYTES)
        self._fetches.append((tp, records, size))
        self._waiting += size
        self._arrived.set()
        if self._waiting >= self._high and tp not in self._paused:
            self._paused.add(tp)
            self._tell_full(tp)

    def clear(self) -> None:
        """At a rebalance: what nobody has taken yet is fetched again from what was committed."""
        self._fetches.clear()
        self._waiting = 0
        self._paused.clear()

    async def take(self, limit: int, gather_s: float = 0.0) -> Batch:
        """Wait for records; 1 to `limit` of them.

        While records keep coming, wait `gather_s` more for a batch that is not full: a batch costs several round
        trips, whatever its length. What comes after a pause is not held up.
        """
        await self._some()
        if self._waiting < limit and self._clock() - self._taken_at < _BUSY * gather_s:
            await asyncio.sleep(gather_s)
            await self._some()
        self._taken_at = self._clock()
        batch = Batch()
        while self._fetches and len(batch) < limit:
            tp, records, size = self._fetches.popleft()
            wanted = limit - len(batch)
            if len(records) > wanted:
                left = size * (len(records) - wanted) // len(records)
                self._fetches.appendleft((tp, records[wanted:], left))
                records, size = records[:wanted], size - left
            batch.extend_by(tp, records, self._ledger(tp))
            self._waiting -= size
        if self._paused and self._waiting <= self._low:
            for tp in self._paused:
                self._tell_room(tp)
            self._paused.clear()
        return batch

    async def _some(self) -> None:
        while not self._fetches:
            self._arrived.clear()
            await self._arrived.wait()

    def _ledger(self, tp: TP) -> Ledger:
        known = self._ledgers.get(tp)
        if known is None:
            known = self._ledgers[tp] = Ledger()
        return known
