"""`scripts/chaos preferences`: a change that was answered with 200 governs every event accepted after it, whatever
happens to the orchestrator: killed with its tables left on its disk (which it then does not trust) or wiped, taken over
by another one, stopped for half a minute.
"""

import asyncio
import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import aiohttp
import msgspec
from aiokafka import AIOKafkaProducer
from rich.console import Console

from notify_streams.local.engines import LocalEngines
from tests.chaos.agreement import Agreement, agreement
from tests.chaos.choosing import Chooser, World
from tests.system import traffic
from tests.system.fleet import Ended
from tests.system.progress import Progress
from tests.system.whole import Whole

SETTINGS = {"NOTIFY_KAFKA__SESSION_TIMEOUT": "8s"}
ROLES = ("ingest", "orchestrator", "recorder")
ORCHESTRATORS = ("orchestrator", "orchestrator-1")
_READY_S, _CALM_S, _TAKEOVER_S, _DECIDED_S = 120.0, 4.0, 11.0, 90.0
_SHOWN = 20
Say = Callable[[str], None]


class Plan(msgspec.Struct, frozen=True):
    """How many users change their minds how often, how many SIGKILLs, how long the SIGSTOP (0: none).

    Every second kill wipes the tables, with `wipe_first` the first already. With `twice` there are two orchestrators,
    and of those killed every third comes back only after the other has taken over.
    """

    users: int = 200
    rounds: int = 20
    kills: int = 6
    stop_s: float = 30.0
    pause_s: float = 2.0
    twice: bool = True
    wipe_first: bool = False


QUICK = Plan(users=60, rounds=10, kills=2, stop_s=12.0, pause_s=1.0)


class Found(msgspec.Struct, frozen=True):
    """What came of it. `rounds` are events, each after a change."""

    plan: Plan
    rounds: int
    seconds: float
    acts: list[str]
    ends: list[Ended]
    answers: dict[str, int]
    agreement: Agreement

    @property
    def faults(self) -> list[str]:
        """Everything that should not be, in sentences."""
        killed = sum(end.code == -signal.SIGKILL for end in self.ends)
        missed = [f"{killed} SIGKILLs of {self.plan.kills}"] if killed < self.plan.kills else []
        return [*missed, *self.agreement.faults]


class Minds:
    """One run on running engines."""

    def __init__(
        self, directory: Path, engines: LocalEngines, plan: Plan, say: Say, *, extra: dict[str, str] | None = None
    ) -> None:
        self._plan, self._say = plan, say
        self._wipe: set[str] = set()
        self._late: set[str] = set()
        self._acts: list[str] = []
        self.whole = Whole(
            directory,
            engines,
            extra={**SETTINGS, **(extra or {})},
            roles=ROLES,
            twice=("orchestrator",) if plan.twice else (),
            before_restart=self._before_restart,
        )

    async def run(self) -> Found:
        """All acts while all users go on, then the comparison. Everything started here has ended when it returns."""
        whole, began = self.whole, time.monotonic()
        try:
            await whole.start()
            await self._register()
            async with (
                aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http,
                AIOKafkaProducer(bootstrap_servers=whole.settings.kafka.bootstrap, acks="all") as producer,
            ):
                world = World(whole.urls["gateway"], whole.settings.kafka, http, producer)
                choosers = [Chooser(world, user, n) for n, user in enumerate(traffic.people(self._plan.users))]
                reading = asyncio.create_task(world.decisions.run())
                try:
                    await self._live(choosers)
                    await self._decided(world, choosers)
                finally:
                    reading.cancel()
                    await asyncio.gather(reading, return_exceptions=True)
            return self._compared(world, choosers, time.monotonic() - began)
        finally:
            await whole.stop()

    async def _register(self) -> None:
        kafka = self.whole.settings.kafka
        await traffic.register(kafka, traffic.people(self._plan.users))
        progress = Progress(kafka)
        if await progress.caught_up("orchestrator", limit_s=60) is None:
            raise TimeoutError("the mailboxes were not registered within 60 s")
        await progress.close()

    async def _live(self, choosers: list[Chooser]) -> None:
        over = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for chooser in choosers:
                group.create_task(chooser.run(self._plan.rounds, over.is_set, self._plan.pause_s))
            await self._play(choosers)
            over.set()

    async def _play(self, choosers: list[Chooser]) -> None:
        victims = ORCHESTRATORS if self._plan.twice else ORCHESTRATORS[:1]
        for number in range(self._plan.kills):
            name, wiped = victims[number // 2 % len(victims)], number % 2 == (0 if self._plan.wipe_first else 1)
            late = self._plan.twice and number % 3 == 2
            words = f"SIGKILL {name}, tables {'wiped' if wiped else 'left'}{', taken over' if late else ''}"
            self._announce(words, choosers)
            self._wipe |= {name} if wiped else set()
            self._late |= {name} if late else set()
            await self.whole.fleet.kill(name)
            await asyncio.sleep(_TAKEOVER_S if late else 1.0)
            await self.whole.fleet.ready(*victims, limit_s=_READY_S)
            await asyncio.sleep(_CALM_S)
        if self._plan.stop_s:
            await self._stop(victims, choosers)

    async def _stop(self, victims: tuple[str, ...], choosers: list[Chooser]) -> None:
        self._announce(f"SIGSTOP {victims[0]} for {self._plan.stop_s:.0f} s", choosers)
        pid = self.whole.fleet.pids[victims[0]]
        os.kill(pid, signal.SIGSTOP)
        try:
            await asyncio.sleep(self._plan.stop_s)
        finally:
            os.kill(pid, signal.SIGCONT)
        await asyncio.sleep(1.0)
        await self.whole.fleet.ready(*victims, limit_s=_READY_S)
        await asyncio.sleep(_CALM_S)

    def _announce(self, words: str, choosers: list[Chooser]) -> None:
        rounds = sum(len(chooser.chosen.rounds) for chooser in choosers)
        self._acts.append(words)
        self._say(f"{words}; {rounds:,} changes and events so far")

    async def _decided(self, world: World, choosers: list[Chooser]) -> None:
        """Until every accepted event was decided, or long enough."""
        wanted = {round_.notification_id for chooser in choosers for round_ in chooser.chosen.rounds}
        until = time.monotonic() + _DECIDED_S
        while wanted := wanted - world.decisions.of.keys():
            if time.monotonic() > until:
                return
            await asyncio.sleep(0.25)

    def _compared(self, world: World, choosers: list[Chooser], seconds: float) -> Found:
        chosen = [chooser.chosen for chooser in choosers]
        found = agreement(chosen, world.decisions.of)
        found.faults += world.faults
        found.faults += [
            f"{c.user_id}: only {len(c.rounds)} rounds" for c in chosen if len(c.rounds) < self._plan.rounds
        ]
        return Found(
            plan=self._plan,
            rounds=sum(len(one.rounds) for one in chosen),
            seconds=seconds,
            acts=self._acts,
            ends=self.whole.fleet.ends,
            answers=dict(sorted(world.answers.items())),
            agreement=found,
        )

    async def _before_restart(self, ended: Ended) -> None:
        """A data directory is gone, or a machine takes its time: only after the end, and only where it is asked for."""
        if ended.name in self._late:
            self._late.discard(ended.name)
            await asyncio.sleep(_TAKEOVER_S)
        if ended.name in self._wipe:
            self._wipe.discard(ended.name)
            shutil.rmtree(self.whole.data_of(ended.name))


def show(found: Found, console: Console) -> int:
    """Counts, then the JSON line; the exit code."""
    faults, counts = found.faults, dict(sorted(found.agreement.counts.items()))
    ends = ", ".join(f"{end.name} by {end.words}" for end in found.ends) or "none"
    console.print(
        f"{found.plan.users} users, {found.rounds:,} changes with an event right after each, in {found.seconds:.0f} s\n"
        f"decided {', '.join(f'{name}: {count:,}' for name, count in counts.items())}\n"
        f"answers and errors on the way: {', '.join(f'{name}: {count:,}' for name, count in found.answers.items())}\n"
        f"ends of programs: {ends}",
        highlight=False,
    )
    for line in faults[:_SHOWN]:
        console.print(f"wrong: {line}", style="bold red", markup=False)
    if len(faults) > _SHOWN:
        console.print(f"… and {len(faults) - _SHOWN} more", style="bold red")
    summary = {"chaos": "preferences", "rounds": found.rounds, "violations": len(faults), "ok": not faults}
    print(json.dumps(summary | {"decided": counts}), flush=True)
    return 1 if faults else 0
