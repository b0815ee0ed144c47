"""One alarm clock for all connections of a process."""

import asyncio
import time
from typing import Protocol

_SLOT_MS = 100


def now_ms() -> int:
    """A steady clock."""
    return time.monotonic_ns() // 1_000_000


class Sleeper(Protocol):
    """Whoever is woken."""

    @property
    def wakes_at(self) -> int:
        """When (ms of `now_ms`)."""

    def wake(self, now: int) -> None:
        """It is time, or it was: called again for instants that have been put off."""


class Wheel:
    """Wakes within a tenth of a second. A timer of the event loop would cost each connection more memory than this."""

    def __init__(self) -> None:
        self._slots: dict[int, list[Sleeper]] = {}
        self._turned = now_ms() // _SLOT_MS
        self._running: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Turn until closed."""
        self._running = asyncio.create_task(self._run(), name="live.wheel")

    def close(self) -> None:
        """Nobody is woken any more."""
        if self._running is not None:
            self._running.cancel()

    def set(self, sleeper: Sleeper) -> None:
        """Wake it when it says; what was set before stays, and does no harm."""
        slot = max(self._turned + 1, -(-sleeper.wakes_at // _SLOT_MS))
        self._slots.setdefault(slot, []).append(sleeper)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(_SLOT_MS / 1000)
            now = now_ms()
            while self._turned < now // _SLOT_MS:
                self._turned += 1
                for sleeper in self._slots.pop(self._turned, ()):
                    sleeper.wake(now)
