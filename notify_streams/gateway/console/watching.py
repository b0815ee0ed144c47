"""Looks at the metrics of all processes for as long as somebody looks at the console."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

import aiohttp
from prometheus_client import REGISTRY
from prometheus_client.exposition import generate_latest

from notify_streams.gateway.console.figures import Samples, Snapshot, Window, parsed
from notify_streams.gateway.console.now import Now, ProviderRow, now, providers_of

log = logging.getLogger(__name__)
EVERY_S, WINDOW_S, IDLE_S = 2.0, 60.0, 60.0
OWN = "gateway"
_ANSWER = aiohttp.ClientTimeout(total=1.5)


class Watching:
    """Asks every two seconds, from the first question until a minute after the last. `targets` are URLs of /metrics.

    Figures are of the last minute, or of as much of it as has been watched.
    """

    def __init__(self, targets: Sequence[str]) -> None:
        self._targets = tuple(targets)
        self._kept: deque[Snapshot] = deque()
        self._silent: tuple[str, ...] = ()
        self._opened: dict[str, float] = {}
        self._asked_at = 0.0
        self._task: asyncio.Task[None] | None = None
        self._http: aiohttp.ClientSession | None = None

    @property
    def targets(self) -> tuple[str, ...]:
        """Who is asked, besides this process."""
        return self._targets

    async def now(self) -> Now:
        """How it stands. The first answer takes two looks."""
        return now(await self._window(), silent=self._silent, opened=self._opened)

    async def providers(self) -> tuple[ProviderRow, ...]:
        """The providers alone."""
        return providers_of(await self._window(), self._opened)

    async def close(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        if self._http is not None:
            await self._http.close()

    async def _window(self) -> Window:
        self._asked_at = time.monotonic()
        if self._task is None or self._task.done():
            self._kept.clear()
            await self._look()
            await asyncio.sleep(EVERY_S / 4)
            await self._look()
            self._task = asyncio.create_task(self._keep_looking(), name="console.watch")
        return Window(self._kept[0], self._kept[-1])

    async def _keep_looking(self) -> None:
        while time.monotonic() - self._asked_at < IDLE_S:
            await asyncio.sleep(EVERY_S)
            await self._look()

    async def _look(self) -> None:
        if self._http is None:
            self._http = aiohttp.ClientSession(timeout=_ANSWER)
        answers = await asyncio.gather(*(self._ask(self._http, url) for url in self._targets))
        found = {url: samples for url, samples in zip(self._targets, answers, strict=True) if samples is not None}
        self._silent = tuple(url for url in self._targets if url not in found)
        self._kept.append(Snapshot(time.monotonic(), {**found, OWN: parsed(generate_latest(REGISTRY).decode())}))
        while len(self._kept) > 2 and self._kept[-1].at - self._kept[1].at >= WINDOW_S:
            self._kept.popleft()
        self._note_breakers()

    async def _ask(self, http: aiohttp.ClientSession, url: str) -> Samples | None:
        try:
            async with http.get(url) as response:
                return parsed(await response.text()) if response.ok else None
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            log.info("console.no_metrics url=%s reason=%s", url, type(error).__name__)
            return None

    def _note_breakers(self) -> None:
        last = Window(self._kept[-1], self._kept[-1])
        opened = {labels["provider"] for labels, state in last.values("notify_breaker_state") if state == 2}
        self._opened = {name: self._opened.get(name, time.time()) for name in opened}
