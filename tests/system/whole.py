"""The whole system in a directory of its own: engines, topics, tables, every role, simulator and gateway."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from notify_streams.local.addresses import Addresses
from notify_streams.local.child import Child
from notify_streams.local.engines import LocalEngines
from notify_streams.local.free_ports import HOST, free_port
from notify_streams.local.programs import NOTIFY, PREPARATIONS, ROLES, WORKERS_DATA, Program, programs
from notify_streams.providers.simulator.credentials import Credentials
from notify_streams.settings import Settings, load

from .catalogue import without_budget
from .fleet import Ended, Fleet

ROOT = Path(__file__).parents[2]
JARS = ROOT / ".local" / "engines"
_PREPARE_S = 120.0


class Whole:
    """Everything on engines that run already; nobody has a budget. `extra` are settings as in the environment.

    Roles in `twice` have a second process, named `ROLE-1`. `every_provider`: the simulator carries all of them, and
    posts its receipts to the gateway; without it, mail alone.
    """

    def __init__(
        self,
        directory: Path,
        engines: LocalEngines,
        *,
        extra: Mapping[str, str] | None = None,
        roles: Iterable[str] = ROLES,
        twice: Iterable[str] = (),
        before_restart: Callable[[Ended], Awaitable[None]] | None = None,
        every_provider: bool = False,
    ) -> None:
        self.directory, self.engines = directory, engines
        found = replace(engines.addresses, gateway=free_port(), smtp=f"smtp://{HOST}:{free_port()}")
        if every_provider:
            found = _simulated(found, directory)
        self.environment = {
            **found.environment(),
            "NOTIFY_LOCAL__STATE": str(directory),
            "NOTIFY_WORKER__DATA": str(directory / "data"),
            "NOTIFY_AUTH__MODE": "open",
            "NOTIFY_CATALOGUE__PATH": str(without_budget(directory)),
            **(extra or {}),
        }
        self.settings: Settings = load(self.environment, cwd=directory)
        self.mails = directory / "simulator" / "mails.jsonl"
        seconds = programs(replace(found, gateway=None), directory, roles=twice, simulator=False)
        all_ = (*programs(found, directory, roles=roles), *map(_second, seconds))
        programs_ = [_with(one, self.environment) for one in all_]
        self.urls = {one.name: one.health_url.removesuffix("/readyz") for one in programs_}
        hooks = {} if before_restart is None else {"before_restart": before_restart}
        self.fleet = Fleet(programs_, logs=directory / "logs", cwd=directory, **hooks)

    def data_of(self, name: str) -> Path:
        """Where a worker keeps its tables."""
        return self.directory / WORKERS_DATA / (name if name.endswith("-1") else f"{name}-0")

    async def start(self) -> None:
        """Topics and tables made, all programs ready."""
        await asyncio.gather(*(self._prepare(words) for words in PREPARATIONS))
        await self.fleet.start()

    async def stop(self) -> None:
        """The programs; the engines go on."""
        await self.fleet.stop()

    async def _prepare(self, words: tuple[str, ...]) -> None:
        log = self.directory / "logs" / f"{'-'.join(words)}.log"
        child = Child([*NOTIFY, *words], log=log, env=self.environment, cwd=self.directory)
        await child.start()
        if not await child.wait(_PREPARE_S) or child.exit_code != 0:
            await child.kill()
            raise RuntimeError(f"notify {' '.join(words)} failed: {child.tail()}")


def _simulated(found: Addresses, directory: Path) -> Addresses:
    """As `notify up` does it."""
    http = free_port()
    known = Credentials(directory / "simulator" / "credentials", f"http://{HOST}:{http}")
    sections = known.settings(smtp=found.smtp or "", apns=f"https://{HOST}:{free_port()}")
    return replace(found, simulator=http, providers=sections, public_url=f"http://{HOST}:{found.gateway}")


def _with(program: Program, environment: Mapping[str, str]) -> Program:
    return replace(program, env={**environment, **program.env})


def _second(program: Program) -> Program:
    return replace(program, name=f"{program.name}-1", argv=(*program.argv, "--instance", "1"))
