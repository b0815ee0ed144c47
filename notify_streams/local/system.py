"""The whole on one machine: engines first, then topics and tables, then the programs; and all the way back."""

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from . import addresses, status
from .addresses import Addresses
from .child import Child
from .engine import Engine
from .engines import ENGINES, LocalEngines
from .free_ports import HOST, free_port
from .programs import NOTIFY, PREPARATIONS, ROLES, programs
from .revive import revive
from .status import Row, State, Status
from .supervisor import Supervisor
from .usage import Usage

_PREPARE_S = 120.0
_LOOK_S = 1.0


class UpError(RuntimeError):
    """The system cannot run; the message says what happened, where, and what to do."""


# The settings with which a simulator is used: its addresses for mail, for APNs, and for everything else.
Simulated = Callable[[str, str, str], Mapping[str, Mapping[str, Any]]]


@dataclass(frozen=True)
class Plan:
    """What to run, and where. `public_url` is for callbacks where the settings name none."""

    state: Path
    jars: Path
    fresh: bool = False
    engines_only: bool = False
    simulator: Simulated | None = None
    roles: tuple[str, ...] = ROLES
    gateway_port: int = 8080
    smtp_port: int = 1025
    http_port: int = 8025
    apns_port: int = 8026
    public_url: bool = True


class System:
    """Engines and programs of one state directory, shown every second to `draw`, told by line to `say`."""

    def __init__(self, plan: Plan, *, say: Callable[[str], None], draw: Callable[[Status], None]) -> None:
        self._plan = plan
        self._say = say
        self._draw = draw
        self._engines = LocalEngines(plan.state, plan.jars, which=(), fresh=plan.fresh, say=say)
        self._supervisor: Supervisor | None = None
        self._usage = Usage()
        self._state: State = "starting"
        self._since = datetime.now(UTC)

    async def run(self) -> None:
        """Until cancelled; nothing is left running. Raises InUse, EngineError, UpError."""
        await self._engines.open()
        showing = asyncio.create_task(self._keep_showing())
        try:
            await self._engines.start(*ENGINES)
            await self._with_programs(showing)
        finally:
            self._become("stopping")
            addresses.remove(self._plan.state)
            await self._engines.stop(*ENGINES)
            showing.cancel()
            await asyncio.gather(showing, return_exceptions=True)
            self._become("stopped")
            status.remove(self._plan.state)
            await self._engines.close()

    def status(self) -> Status:
        """As it stands."""
        rows = [_engine_row(engine, *self._usage.of(engine.pid)) for engine in self._engines.each]
        if self._supervisor:
            rows += self._supervisor.rows(self._usage)
        return Status(pid=os.getpid(), state=self._state, since=self._since, rows=tuple(rows))

    async def _with_programs(self, showing: asyncio.Task[None]) -> None:
        found = self._found_addresses()
        found.write(self._plan.state)
        revivers = [asyncio.create_task(revive(engine, self._say)) for engine in self._engines.each]
        try:
            if self._plan.engines_only:
                self._become("ready")
                await asyncio.gather(asyncio.shield(showing), *revivers)
            await asyncio.gather(*(self._prepare(words, found) for words in PREPARATIONS))
            running = programs(
                found, self._plan.state, roles=self._plan.roles, simulator=self._plan.simulator is not None
            )
            async with Supervisor(running, logs=self._plan.state / "logs", say=self._say) as self._supervisor:
                await self._until_ready(self._supervisor)
                self._become("ready")
                await asyncio.gather(asyncio.shield(showing), *revivers)
        finally:
            self._become("stopping")
            for task in revivers:
                task.cancel()
            await asyncio.gather(*revivers, return_exceptions=True)

    def _found_addresses(self) -> Addresses:
        if self._plan.engines_only:
            return self._engines.addresses
        gateway = free_port(self._plan.gateway_port)
        url = f"http://{HOST}:{gateway}" if self._plan.public_url else None
        found = replace(self._engines.addresses, gateway=gateway, public_url=url)
        if self._plan.simulator is None:
            return found
        smtp, http, apns = map(free_port, (self._plan.smtp_port, self._plan.http_port, self._plan.apns_port))
        sections = self._plan.simulator(f"smtp://{HOST}:{smtp}", f"https://{HOST}:{apns}", f"http://{HOST}:{http}")
        return replace(found, simulator=http, providers=sections)

    async def _prepare(self, words: tuple[str, ...], found: Addresses) -> None:
        name = "-".join(words)
        child = Child([*NOTIFY, *words], log=self._plan.state / "logs" / f"{name}.log", env=found.environment())
        await child.start()
        try:
            ended = await child.wait(_PREPARE_S)
        finally:
            await child.kill()
        if not ended or child.exit_code != 0:
            what = f"ended with exit code {child.exit_code}" if ended else f"did not end within {_PREPARE_S:.0f} s"
            raise UpError(f"notify {' '.join(words)} {what}; its log {child.log} ends with:\n{child.tail()}")

    async def _until_ready(self, supervisor: Supervisor) -> None:
        while supervisor.not_ready():
            if broken := supervisor.broken():
                raise UpError(broken)
            await asyncio.sleep(0.1)

    async def _keep_showing(self) -> None:
        while True:
            began = time.monotonic()
            now = self.status()
            status.write(self._plan.state, now)
            self._draw(now)
            await asyncio.sleep(max(0.1, _LOOK_S - (time.monotonic() - began)))

    def _become(self, state: State) -> None:
        if state != self._state:
            self._state = state
            self._since = datetime.now(UTC)
            now = self.status()
            status.write(self._plan.state, now)
            self._draw(now)


def _engine_row(engine: Engine, cpu: float, rss: int) -> Row:
    return Row(
        name=engine.name,
        kind="engine",
        state=engine.state,
        since=engine.since,
        pid=engine.pid,
        restarts=max(0, engine.starts - 1),
        rss=rss,
        cpu=cpu,
        address=f"{HOST}:{engine.port}" if engine.ports else "",
    )
