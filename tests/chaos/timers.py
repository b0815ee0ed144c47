"""`scripts/chaos timers`: scheduler and orchestrator killed, with their disks and without, while mails come due."""

import asyncio
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from notify_streams.local.engines import LocalEngines
from notify_streams.local.programs import WORKERS_DATA
from notify_streams.records.cassandra import CassandraRecords
from notify_streams.stores.cassandra import connect
from notify_streams.streaming import topics
from schemas.words import Lane
from tests.bench.latencies import entries_of
from tests.chaos.finality import Finality
from tests.chaos.publishing import Publisher
from tests.chaos.spine import SETTINGS
from tests.system import traffic
from tests.system.fleet import Ended
from tests.system.progress import Progress
from tests.system.traffic import Event
from tests.system.whole import Whole

SCHEDULER, ORCHESTRATOR = "scheduler", "orchestrator"
PER_USER = 4
_KINDS: tuple[tuple[str, Lane, dict[str, object]], ...] = (
    ("message.direct", "high", {"text": "Coming tonight?", "url": "https://app.example/m/7"}),
    ("order.confirmed", "normal", {"order": "1", "total": "9 EUR", "items": [], "url": "https://a.example"}),
    ("marketing.campaign", "low", {"title": "Sale", "text": "All.", "ends": "2030-01-01", "url": "https://a.example"}),
)
_READY_S, _QUIET_S, _REGISTERED_S = 120.0, 45.0, 60.0
Say = Callable[[str], None]


class Plan(msgspec.Struct, frozen=True):
    """Half of the mails are due at one instant in the middle of the span, the others anywhere in it.

    It begins `ahead_s` after the first event. `acts`: when, as a share of the span, who is killed, and whether the
    disk is lost too.
    """

    mails: int = 10_000
    ahead_s: float = 30.0
    span_s: float = 60.0
    rate: float = 1000.0
    acts: tuple[tuple[float, str, bool], ...] = (
        (0.02, SCHEDULER, False),
        (0.13, ORCHESTRATOR, False),
        (0.26, SCHEDULER, True),
        (0.38, ORCHESTRATOR, True),
        (0.503, SCHEDULER, True),
        (0.51, ORCHESTRATOR, True),
        (0.63, SCHEDULER, False),
        (0.75, ORCHESTRATOR, False),
        (0.88, SCHEDULER, True),
    )


QUICK = Plan(mails=2_000, ahead_s=15.0, span_s=30.0, acts=Plan().acts[3:7])


class Found(msgspec.Struct, frozen=True):
    """Where the mails of the accepted events are. `late` in seconds, of the first time; `missing` in words."""

    accepted: int
    once: int
    twice: dict[str, int]
    early: dict[str, float]
    strangers: list[str]
    missing: list[str]
    late: list[float]
    acts: list[str]
    ends: list[Ended]
    dead_letters: int


class Timers:
    """One run on running engines."""

    def __init__(self, directory: Path, engines: LocalEngines, plan: Plan, say: Say) -> None:
        self._plan, self._say = plan, say
        self._losing: set[str] = set()
        self._acts: list[str] = []
        self.whole = Whole(directory, engines, extra=SETTINGS, before_restart=self._lose_disk)

    async def run(self) -> Found:
        """Publish, kill while they come due, and look where each mail went. All has ended when it returns."""
        whole, plan = self.whole, self._plan
        kafka, progress = whole.settings.kafka, Progress(whole.settings.kafka)
        try:
            await whole.start()
            people = traffic.people(plan.mails // PER_USER)
            await traffic.register(kafka, people)
            await progress.caught_up(ORCHESTRATOR, limit_s=_REGISTERED_S)
            begins = _now() + round(plan.ahead_s * 1000)
            due: dict[str, int] = {}
            publisher = Publisher(kafka, whole.urls["gateway"], scheduled(plan, list(people), begins, due))
            publisher.rate = plan.rate
            publishing = asyncio.create_task(publisher.run())
            await self._play(begins, publisher)
            await publishing
            await self._settled(begins, publisher)
            return await self._count(publisher, due, progress)
        finally:
            await whole.stop()
            await progress.close()

    async def _play(self, begins: int, publisher: Publisher) -> None:
        for share, role, lost in self._plan.acts:
            await asyncio.sleep(max(0.0, (begins - _now()) / 1000 + share * self._plan.span_s))
            at, mailed = (_now() - begins) / 1000, len(entries_of(self.whole.mails))
            if lost:
                self._losing.add(role)
            began = time.monotonic()
            await self.whole.fleet.kill(role)
            await self.whole.fleet.ready(role, limit_s=_READY_S)
            words = f"SIGKILL {role}{', disk lost' if lost else ''} at {at:.1f} s of the span, {mailed:,} mails out"
            self._acts.append(f"{words}; ready after {time.monotonic() - began:.1f} s")
            self._say(f"{self._acts[-1]}; {len(publisher.accepted):,} events accepted")

    async def _lose_disk(self, ended: Ended) -> None:
        if ended.name in self._losing:
            self._losing.discard(ended.name)
            shutil.rmtree(self.whole.directory / WORKERS_DATA / f"{ended.name}-0")

    async def _settled(self, begins: int, publisher: Publisher) -> None:
        """All mails are out, or none has come for a while after the end of the span."""
        wanted = {event.delivery_id for event in publisher.accepted.values()}
        count, moved = -1, time.monotonic()
        while time.monotonic() - moved < _QUIET_S or _now() < begins + self._plan.span_s * 1000:
            mailed = [id_ for id_, _ in entries_of(self.whole.mails)]
            if wanted <= set(mailed):
                break
            if len(mailed) > count:
                count, moved = len(mailed), time.monotonic()
            await asyncio.sleep(0.5)
        await asyncio.sleep(5.0)  # what comes a second time comes soon

    async def _count(self, publisher: Publisher, due: dict[str, int], progress: Progress) -> Found:
        wanted = {event.delivery_id: event for event in publisher.accepted.values()}
        taken: dict[str, list[int]] = {}
        for id_, at in entries_of(self.whole.mails):
            taken.setdefault(id_, []).append(at)
        session = await connect(self.whole.settings.cassandra)
        finality = Finality(await CassandraRecords.open(session), publisher.accepted)
        missing = [await finality.describe(event) for id_, event in wanted.items() if id_ not in taken]
        await session.close()
        ours = {id_: times for id_, times in taken.items() if id_ in wanted}
        return Found(
            accepted=len(wanted),
            once=sum(len(times) == 1 for times in ours.values()),
            twice={id_: len(times) for id_, times in ours.items() if len(times) > 1},
            early={id_: (due[id_] - min(times)) / 1000 for id_, times in ours.items() if min(times) < due[id_]},
            strangers=[id_ for id_ in taken if id_ not in wanted],
            missing=missing,
            late=sorted((min(times) - due[id_]) / 1000 for id_, times in ours.items()),
            acts=self._acts,
            ends=self.whole.fleet.ends,
            dead_letters=sum((await progress.ends([topics.DEAD_LETTERS])).values()),
        )


def scheduled(plan: Plan, users: list[str], begins: int, due: dict[str, int]) -> Iterator[Event]:
    """Events by mail alone, whose `send_at` (ms) is noted in `due` by delivery."""
    chance = random.Random(5)
    for number in range(plan.mails):
        share = 0.5 if number % 2 else chance.random()
        send_at = begins + round(share * plan.span_s * 1000)
        type_, lane, payload = _KINDS[number % len(_KINDS)]
        user = users[number % len(users)]
        one = traffic.event(f"timers-{number}", user, type_, lane, payload, mail=True)
        value = msgspec.json.decode(one.value)
        value["data"] |= {"channels": ["email"], "send_at": datetime.fromtimestamp(send_at / 1000, UTC).isoformat()}
        due[one.delivery_id] = send_at
        yield msgspec.structs.replace(one, value=msgspec.json.encode(value))


def by_program(ends: list[Ended]) -> Counter[str]:
    """How often each program ended, and how."""
    return Counter(f"{end.name} {end.words}" for end in ends)


def _now() -> int:
    return time.time_ns() // 1_000_000
