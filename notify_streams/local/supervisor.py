"""Keeps a list of programs running, and stops them in reverse order."""

import asyncio
import itertools
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

import aiohttp

from .programs import Program
from .status import Row
from .supervised import Supervised
from .usage import Usage


class Supervisor:
    """Enter it to start all; leave it to stop all, tier by tier. No program outlives it."""

    def __init__(self, programs: Iterable[Program], *, logs: Path, say: Callable[[str], None]) -> None:
        self._programs = list(programs)
        self._logs = logs
        self._say = say
        self._all: list[Supervised] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._http: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._http = http = aiohttp.ClientSession()
        self._all = [Supervised(one, logs=self._logs, http=http, say=self._say) for one in self._programs]
        self._tasks = [asyncio.create_task(one.run(), name=one.program.name) for one in self._all]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        latest_first = sorted(self._all, key=lambda one: one.program.tier, reverse=True)
        for _, tier in itertools.groupby(latest_first, key=lambda one: one.program.tier):
            await asyncio.gather(*(one.stop() for one in tier))
        if self._http:
            await self._http.close()

    def broken(self) -> str:
        """The error of a program that could not even be started, else empty."""
        for task in self._tasks:
            if task.done() and not task.cancelled() and (error := task.exception()):
                return f"{task.get_name()} cannot be started: {error}"
        return ""

    def not_ready(self) -> list[Supervised]:
        """Those that do not serve now."""
        return [one for one in self._all if one.state != "ready"]

    def rows(self, usage: Usage) -> list[Row]:
        """One line of status each."""
        return [_row(one, *usage.of(one.pid)) for one in self._all]


def _row(one: Supervised, cpu: float, rss: int) -> Row:
    return Row(
        name=one.program.name,
        kind="program",
        state=one.state,
        since=one.since,
        pid=one.pid,
        restarts=one.restarts,
        rss=rss,
        cpu=cpu,
        rate=one.rate,
        lag=one.lag,
        address=one.program.health_url.removesuffix("/readyz"),
    )
