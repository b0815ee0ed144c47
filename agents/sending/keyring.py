"""Delivery keys as a sender uses them: many at once, and without Redis in this process's own memory."""

import asyncio
from collections.abc import Sequence

from agents.sending.jobs import Job
from agents.sending.together import Together
from agents.sending.waits import Waits
from notify_streams.metrics import BYPASSED
from notify_streams.ports import Claim, DeliveryKeys, Unavailable
from schemas.deliveries import DeliveryV1
from schemas.outcomes import OutcomeV1

HOLD_STEP_S = 0.25
_OWED, _UNCALLED, _AT_ONCE = 50_000, 5_000, 500
_Call = tuple[DeliveryV1, int, str, bool]


class Keyring:
    """One per lane. `own_memory` knows what this process has sent, with Redis and without.

    What Redis did not take of how calls ended is owed, the last 50,000 of it, and goes with what it is told next: a key
    that still says *calling* would have the delivery sent again by whoever meets it. So is that no call followed where
    its answer to *calling* was lost: the delivery would rest for minutes as one of which nobody knows.
    """

    def __init__(self, keys: DeliveryKeys, own_memory: DeliveryKeys, waits: Waits) -> None:
        self._keys, self._own_memory, self._waits = keys, own_memory, waits
        self._calling: Together[_Call, bool] = Together(self._ask_calling)
        self._ended: Together[OutcomeV1, None] = Together(self._ask_ended)
        self._owed: list[OutcomeV1] = []
        self._uncalled: list[tuple[DeliveryV1, int]] = []

    async def claims(self, jobs: Sequence[Job], *, hold_s: float | None) -> Sequence[Claim] | None:
        """Those of one batch. Without Redis None after `hold_s`; where that is None by this process's own memory."""
        deliveries, loop = [job.delivery for job in jobs], asyncio.get_running_loop()
        until = loop.time() + (hold_s or 0.0)
        while True:
            try:
                if self._owed:
                    await self._ask_ended(())
                if self._uncalled:
                    await self._take_back()
                return await self._keys.claim(deliveries)
            except Unavailable:
                BYPASSED.labels(engine="redis").inc()
            if hold_s is None:
                return await self._own_memory.claim(deliveries)
            if loop.time() >= until or self._waits.interrupted():
                return None
            await self._waits.pause(min(HOLD_STEP_S, hold_s / 3))

    async def calling(self, delivery: DeliveryV1, now: int, by: str, *, holds: bool) -> bool | None:
        """Whether `by` may be called for it now; None where nobody can tell, since Redis is away, and it `holds`."""
        try:
            return await self._calling((delivery, now, by, holds))
        except Unavailable:
            BYPASSED.labels(engine="redis").inc()
        if holds:
            return None
        [allowed] = await self._own_memory.calling([delivery], now, [by])
        return allowed

    async def ended(self, outcome: OutcomeV1) -> None:
        """Keep how the call ended."""
        try:
            await self._ended(outcome)
        except Unavailable:
            BYPASSED.labels(engine="redis").inc()
        await self._own_memory.ended([outcome])

    async def _take_back(self) -> None:
        told, self._uncalled = self._uncalled[:_AT_ONCE], self._uncalled[_AT_ONCE:]
        try:
            await self._keys.uncalled([delivery for delivery, _ in told], [since for _, since in told])
        except Unavailable:
            self._uncalled = [*told, *self._uncalled][-_UNCALLED:]
            raise

    async def _ask_calling(self, calls: Sequence[_Call]) -> Sequence[bool]:
        now = min(now for _, now, _, _ in calls)
        try:
            return await self._keys.calling([delivery for delivery, *_ in calls], now, [by for _, _, by, _ in calls])
        except Unavailable:
            held = [(delivery, now) for delivery, _, _, holds in calls if holds]
            self._uncalled = [*self._uncalled, *held][-_UNCALLED:]
            raise

    async def _ask_ended(self, outcomes: Sequence[OutcomeV1]) -> Sequence[None]:
        told, self._owed = [*self._owed[:_AT_ONCE], *outcomes], self._owed[_AT_ONCE:]
        try:
            await self._keys.ended(told)
        except Unavailable:
            self._owed = [*self._owed, *told][-_OWED:]
            raise
        return [None] * len(outcomes)
