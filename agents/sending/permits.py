"""Permits of the limiter: whoever of one lane wants one waits in a queue that asks for all of them at once."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Literal

from agents.sending.waits import Waits
from notify_streams.metrics import BYPASSED, LIMITER_WAIT
from notify_streams.ports import Limiter, Unavailable
from schemas.words import Lane

PERMIT_S = 2.0  # nobody waits longer inside a batch
_MOST, _LEAST_PAUSE_S = 500, 0.02  # of a limiter that lets a tenth of a second go at once
Permit = Literal["granted", "late", "paused", "away"]


class Permits:
    """Of one provider and lane. `own` is this process's share, which HIGH (not `holds`) uses while Redis is away.

    `paused` hears for how many ms the provider is to be left alone, where that is longer than anybody would wait.
    """

    def __init__(
        self,
        provider: str,
        lane: Lane,
        limiter: Limiter,
        own: Limiter,
        waits: Waits,
        paused: Callable[[int], None],
    ) -> None:
        self._provider, self._lane, self._limiter, self._own = provider, lane, limiter, own
        self._waits, self._paused = waits, paused
        self._waited = LIMITER_WAIT.labels(provider=provider)
        self._queue: deque[asyncio.Future[Permit]] = deque()
        self._serving: asyncio.Task[None] | None = None

    async def take(self, timeout_s: float = PERMIT_S) -> Permit:
        """A permit for a call that is made at once, or why there is none."""
        loop = asyncio.get_running_loop()
        permit: asyncio.Future[Permit] = loop.create_future()
        self._queue.append(permit)
        if self._serving is None:
            self._serving = loop.create_task(self._serve())
        asked_at = loop.time()
        answer = await self._waits.wait(permit, min(timeout_s, PERMIT_S))
        self._waited.observe(loop.time() - asked_at)
        return answer or "late"

    async def pause(self, for_ms: int) -> None:
        """Nobody of any process gets one for so long."""
        await self._own.pause(self._provider, for_ms)
        try:
            await self._limiter.pause(self._provider, for_ms)
        except Unavailable:
            BYPASSED.labels(engine="redis").inc()

    async def _serve(self) -> None:
        try:
            while await self._asked():
                pass
        except Exception as error:  # noqa: BLE001  raised for each of those who wait: nobody waits for a dead queue
            self._answer(error=error)
        finally:
            self._serving = None

    async def _asked(self) -> bool:
        """One question to the limiter; False once nobody waits any more."""
        await asyncio.sleep(0)  # whoever comes in the same turn of the loop comes in the same question
        self._queue = deque(permit for permit in self._queue if not permit.done())
        if not self._queue:
            return False
        wanted = min(len(self._queue), _MOST)
        try:
            grant = await self._limiter.take(self._provider, self._lane, wanted)
        except Unavailable:
            BYPASSED.labels(engine="redis").inc()
            if self._lane != "high":
                self._answer("away")
                return False
            grant = await self._own.take(self._provider, self._lane, wanted)
        self._grant(grant.granted)
        if grant.wait_ms > PERMIT_S * 1000:
            self._paused(grant.wait_ms)
            self._answer("paused")
        elif grant.granted < wanted:
            await asyncio.sleep(max(grant.wait_ms / 1000, _LEAST_PAUSE_S))
        return True

    def _grant(self, count: int) -> None:
        while count and self._queue:
            permit = self._queue.popleft()
            if not permit.done():
                permit.set_result("granted")
                count -= 1

    def _answer(self, permit: Permit = "late", error: Exception | None = None) -> None:
        for waiting in self._queue:
            if waiting.done():
                continue
            if error is None:
                waiting.set_result(permit)
            else:
                waiting.set_exception(error)
        self._queue.clear()
