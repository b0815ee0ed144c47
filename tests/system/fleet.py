"""Programs kept running as `notify up` keeps them, with a record of every end and a hook before every new start."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

import aiohttp
import msgspec

from notify_streams.local.child import Child
from notify_streams.local.health import is_ready
from notify_streams.local.programs import Program
from notify_streams.local.restarts import Restarts

_LOOK_S, _GRACE_S = 0.1, 15.0


class Ended(msgspec.Struct, frozen=True):
    """A program that ended without having been stopped. `code` is negative for a signal; `at` is ms, UTC."""

    name: str
    code: int
    at: int

    @property
    def words(self) -> str:
        """How it ended."""
        return f"signal {-self.code}" if self.code < 0 else f"exit code {self.code}"


async def _nothing(_: Ended) -> None:
    """No hook."""


class Fleet:
    """Start with `start`, end with `stop`. `before_restart` is awaited between an end and the next start."""

    def __init__(
        self,
        programs: Iterable[Program],
        *,
        logs: Path,
        cwd: Path,
        before_restart: Callable[[Ended], Awaitable[None]] = _nothing,
    ) -> None:
        self.ends: list[Ended] = []
        self._before_restart = before_restart
        self._programs = {one.name: one for one in programs}
        self._children = {
            one.name: Child(one.argv, log=logs / f"{one.name}.log", env=one.env, cwd=cwd)
            for one in self._programs.values()
        }
        self._tasks: list[asyncio.Task[None]] = []
        self._http: aiohttp.ClientSession | None = None

    @property
    def pids(self) -> dict[str, int]:
        """Of those that run."""
        return {name: child.pid for name, child in self._children.items() if child.pid is not None}

    async def start(self) -> None:
        """Start all, and return when all are ready."""
        self._http = aiohttp.ClientSession()
        self._tasks = [asyncio.create_task(self._keep(name), name=name) for name in self._programs]
        await self.ready()

    async def stop(self) -> None:
        """SIGTERM to all, in reverse order of their tiers."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for tier in sorted({one.tier for one in self._programs.values()}, reverse=True):
            names = [one.name for one in self._programs.values() if one.tier == tier]
            await asyncio.gather(*(self._children[name].stop(_GRACE_S) for name in names))
        if self._http is not None:
            await self._http.close()

    async def kill(self, name: str) -> None:
        """SIGKILL; it is started again by itself."""
        await self._children[name].kill()

    async def ready(self, *names: str, limit_s: float = 120.0) -> None:
        """Return when these (all when none is named) say that they are ready. Raises TimeoutError with their names."""
        until, waiting = time.monotonic() + limit_s, list(names or self._programs)
        while waiting := [name for name in waiting if not await self._is_ready(name)]:
            if time.monotonic() > until:
                raise TimeoutError(f"not ready after {limit_s:.0f} s: {', '.join(waiting)}")
            await asyncio.sleep(_LOOK_S)

    def tail(self, name: str) -> str:
        """The end of its log."""
        return self._children[name].tail()

    async def _is_ready(self, name: str) -> bool:
        assert self._http is not None
        return self._children[name].pid is not None and await is_ready(self._http, self._programs[name].health_url)

    async def _keep(self, name: str) -> None:
        child, past = self._children[name], Restarts()
        while True:
            began = time.monotonic()
            await child.start()
            while not await child.wait(60.0):
                pass
            ended = Ended(name, child.exit_code or 0, round(time.time() * 1000))
            self.ends.append(ended)
            await self._before_restart(ended)
            past, wait_s = past.after(exit_code=ended.code, ran_for=time.monotonic() - began)
            await asyncio.sleep(wait_s)
