"""The life of one program: started, asked for its health, started again when it ends, stopped."""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import aiohttp

from .child import Child
from .health import Flow, is_ready, metrics
from .programs import Program
from .restarts import Restarts
from .status import State

GRACE_S = 30.0
_UNREADY_POLL_S = 0.25
_READY_POLL_S = 2.0


class Supervised:
    """`run` never returns by itself; `stop` ends it."""

    def __init__(
        self, program: Program, *, logs: Path, http: aiohttp.ClientSession, say: Callable[[str], None]
    ) -> None:
        self.program = program
        self.state: State = "stopped"
        self.since = datetime.now(UTC)
        self.restarts = 0
        self.rate: float | None = None
        self.lag: float | None = None
        self._child = Child(program.argv, log=logs / f"{program.name}.log", env=program.env)
        self._http = http
        self._say = say
        self._flow: Flow | None = None
        self._past = Restarts()

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        return self._child.pid

    async def run(self) -> None:
        """Keep it running."""
        while True:
            began = time.monotonic()
            await self._child.start()
            self._become("starting")
            await self._watch(began)
            wait = self._ended(time.monotonic() - began)
            await asyncio.sleep(wait)
            self.restarts += 1

    async def stop(self) -> None:
        """SIGTERM, and SIGKILL after the grace. `run` must have been cancelled."""
        self._become("stopping")
        await self._child.stop(GRACE_S)
        if (code := self._child.exit_code) not in (0, None):
            self._say(f"{self.program.name} ended with {_in_words(code)} when it was stopped")
        self._become("stopped")

    def tail(self) -> str:
        """The end of its log."""
        return self._child.tail()

    async def _watch(self, began: float) -> None:
        while not await self._child.wait(_READY_POLL_S if self.state == "ready" else _UNREADY_POLL_S):
            if await is_ready(self._http, self.program.health_url):
                if self.state != "ready":
                    self._say(f"{self.program.name} is ready, {time.monotonic() - began:.1f} s after its start")
                    self._become("ready")
                await self._look()
            elif self.state == "ready":
                self._say(f"{self.program.name} is no longer ready")
                self._become("unready")

    async def _look(self) -> None:
        flow = Flow.read(await metrics(self._http, self.program.metrics_url))
        self.lag = flow.lag
        self.rate = flow.rate(self._flow) if self._flow else None
        self._flow = flow

    def _ended(self, ran_for: float) -> float:
        code = self._child.exit_code or 0
        self._past, wait = self._past.after(exit_code=code, ran_for=ran_for)
        self.rate = self.lag = self._flow = None
        self._become("waiting")
        again = f"starting it again in {wait:.1f} s" if wait else "starting it again at once"
        self._say(f"{self.program.name} ended with {_in_words(code)}; {again} (its log: {self._child.log})")
        return wait

    def _become(self, state: State) -> None:
        if state != self.state:
            self.state = state
            self.since = datetime.now(UTC)


def _in_words(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
