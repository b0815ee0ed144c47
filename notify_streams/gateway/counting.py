"""How often something was done lately: counted in Redis for all gateways, and in each for itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Protocol

from notify_streams.gateway.pipelined import Command
from notify_streams.ports import Unavailable
from notify_streams.settings import Kafka

WINDOW_S = 600
_MOST = 50_000


class Asks(Protocol):
    """Redis, as `Pipelined` has it."""

    async def ask(self, *commands: Command) -> list[int]:
        """The answers, in order. Raises Unavailable."""


@dataclass(slots=True)
class Local:
    """What this process has counted: for ten minutes from the first, and the newest where there are too many."""

    _counts: dict[str, tuple[int, float]] = field(default_factory=dict)

    def add(self, name: str, now: float) -> tuple[int, int]:
        """How often it is now, and for how many seconds that counts. `now` in s."""
        count, until = self._counts.pop(name, (0, now + WINDOW_S))
        if until <= now:
            count, until = 0, now + WINDOW_S
        while len(self._counts) >= _MOST:
            del self._counts[next(iter(self._counts))]
        self._counts[name] = (count + 1, until)
        return count + 1, max(1, round(until - now))


class Counting:
    """Counts before it is done, so that what is tried a thousand times at once is counted a thousand times.

    With Redis away each gateway goes by what it has counted itself. Names are hashed: they hold whom it is about.
    """

    def __init__(self, redis: Asks, kafka: Kafka) -> None:
        self._redis, self._local = redis, Local()
        self._place = f"{kafka.prefix}:{kafka.generation}:counted:"

    async def add(self, limits: Mapping[str, int], now: float) -> int | None:
        """Count one under each name; the seconds to wait where it is more than this many. `now` in s, monotonic."""
        here = [self._local.add(name, now) for name in limits]
        everywhere = await self._shared(list(limits))
        waits = (
            wait
            for counts in (here, everywhere)
            for (count, wait), most in zip(counts, limits.values(), strict=False)
            if count > most
        )
        return max(waits, default=None)

    async def _shared(self, names: list[str]) -> list[tuple[int, int]]:
        keys = [f"{self._place}{sha256(name.encode()).hexdigest()[:32]}".encode() for name in names]
        length = b"%d" % WINDOW_S
        asked = [c for key in keys for c in ((b"INCR", key), (b"EXPIRE", key, length, b"NX"), (b"TTL", key))]
        try:
            answers = await self._redis.ask(*asked)
        except Unavailable:
            return []
        return [(count, max(1, left)) for count, left in zip(answers[::3], answers[2::3], strict=True)]
