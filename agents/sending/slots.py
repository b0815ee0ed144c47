"""How many calls one lane may have under way at one provider."""

import asyncio
import time
from collections import deque
from collections.abc import Callable

from agents.sending.waits import Waits

STUCK_S = 2.0


class Slots:
    """First come, first served. `clock` in seconds."""

    def __init__(self, size: int, waits: Waits, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._free, self._waits, self._clock = size, waits, clock
        self._queue: deque[asyncio.Future[bool]] = deque()
        self._moved_at = clock()

    @property
    def is_stuck(self) -> bool:
        """All are taken and none has come free for two seconds: whoever has them waits for a provider that hangs."""
        return self._free == 0 and self._clock() - self._moved_at >= STUCK_S

    async def take(self, timeout_s: float) -> bool:
        """One of them, to be given back; False where none comes free in time or the wait was interrupted."""
        if self._free:
            self._free -= 1
            self._moved_at = self._clock()
            return True
        slot: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._queue.append(slot)
        try:
            return await self._waits.wait(slot, timeout_s) is True
        except asyncio.CancelledError:
            if slot.done() and not slot.cancelled() and slot.result():
                self.give()
            raise

    def give(self) -> None:
        """Give one back."""
        self._moved_at = self._clock()
        while self._queue:
            slot = self._queue.popleft()
            if not slot.done():
                slot.set_result(True)
                return
        self._free += 1
