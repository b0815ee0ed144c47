"""`scripts/chaos spine`: every worker, then the broker, killed under load; then an outage of each engine."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import aiohttp
import msgspec

from notify_streams.local.engines import ENGINES, LocalEngines
from notify_streams.local.programs import ROLES
from notify_streams.providers.simulator.script import Reply, Rule
from notify_streams.records.account import Account
from notify_streams.records.cassandra import CassandraRecords
from notify_streams.stores.cassandra import Session, connect
from notify_streams.streaming import topics
from tests.chaos.accounts import reconciled
from tests.chaos.acts import Act, Stage
from tests.chaos.calling import Calling
from tests.chaos.counting import Inboxes, Left, Mails, inboxes, mails
from tests.chaos.finality import Finality
from tests.chaos.publishing import Publisher
from tests.system import traffic
from tests.system.fleet import Ended
from tests.system.progress import Progress
from tests.system.whole import Whole

SETTINGS = {
    "NOTIFY_KAFKA__SESSION_TIMEOUT": "8s",
    "NOTIFY_CHANNELS__EMAIL__LOCK": "15s",
    "NOTIFY_CHANNELS__EMAIL__RETRY__BASE": "500ms",
    "NOTIFY_CHANNELS__EMAIL__RETRY__CAP": "5s",
}
USERS, FINAL_S, SENDER = 2000, 120.0, "sender-email"
# Addresses: most answer at once, some after 200 ms, some put off the first mail, some lose the connection after it.
KINDS = (*["far+"] * 10, *["busy-1+"] * 2, "lost-1+", *[""] * 17)
FAR = Rule("far+*", (Reply("delay", seconds=0.2),) * 1000)
SENDER_KILLS = 4
_BACK_S = 30.0  # what an engine takes to come back, and the workers to catch up
Say = Callable[[str], None]


class Plan(msgspec.Struct, frozen=True):
    """How much, how long."""

    events: int = 20_000
    outage_s: float = 60.0
    act_s: float = 10.0
    frozen: bool = False


class Found(msgspec.Struct, frozen=True):
    """Everything that was counted."""

    acts: list[Act]
    ends: list[Ended]
    left: list[Left]
    accepted: int
    by_http: int
    answers: dict[str, int]
    inboxes: Inboxes
    mails: Mails
    dead_letters: int
    pending: list[str]
    account: Account


class Spine:
    """One run on running engines."""

    def __init__(self, directory: Path, engines: LocalEngines, plan: Plan, say: Say) -> None:
        self._plan, self._say = plan, say
        self._calling = Calling(engines.addresses.redis or "", SENDER)
        self.whole = Whole(directory, engines, extra=SETTINGS, before_restart=self._calling.look)

    async def run(self) -> Found:
        """All acts, then the sums. Everything started here has ended when it returns."""
        whole, began = self.whole, round(time.time() * 1000)
        kafka, progress = whole.settings.kafka, Progress(whole.settings.kafka)
        try:
            await whole.start()
            await _script(whole.urls["simulator"])
            session = await connect(whole.settings.cassandra)
            mailboxes = traffic.people(USERS, kinds=KINDS)
            await traffic.register(kafka, mailboxes)
            await progress.caught_up("orchestrator", limit_s=60)
            source = traffic.events(self._plan.events, list(mailboxes), prefix="spine")
            publisher = Publisher(kafka, whole.urls["gateway"], source)
            finality = Finality(await CassandraRecords.open(session), publisher.accepted)
            stage = Stage(whole, publisher, finality, progress, self._say)
            publishing = asyncio.create_task(publisher.run())
            await self._play(stage, publisher)
            await publishing
            await finality.reached(limit_s=FINAL_S, of=lambda: set(publisher.accepted))
            return await self._count(stage, publisher, finality, session, progress, began)
        finally:
            await whole.stop()
            await progress.close()
            await self._calling.close()

    async def _play(self, stage: Stage, publisher: Publisher) -> None:
        """Three quarters of the events go out while workers are killed, the rest during the outages."""
        plan = self._plan
        kills = [role for role in ROLES for _ in range(SENDER_KILLS if role == SENDER else 1)]
        for left, role in zip(range(len(kills), 0, -1), kills, strict=True):
            publisher.rate = (0.75 * plan.events - publisher.taken) / (left * stage.usual(plan.act_s))
            await stage.kill(role, lasts_s=plan.act_s)
        outages = [("kafka", 0.0), *((engine, plan.outage_s) for engine in ENGINES)]
        for left, (engine, away_s) in zip(range(len(outages), 0, -1), outages, strict=True):
            publisher.rate = 0.9 * (plan.events - publisher.taken) / (left * (plan.outage_s + _BACK_S))
            await stage.outage(engine, seconds=away_s, frozen=plan.frozen and away_s > 0)
        publisher.rate = plan.events / 60

    async def _count(
        self,
        stage: Stage,
        publisher: Publisher,
        finality: Finality,
        session: Session,
        progress: Progress,
        began: int,
    ) -> Found:
        config, accepted = self.whole.settings, publisher.accepted.values()
        dead = await progress.ends([topics.DEAD_LETTERS])
        account = await reconciled(config, await CassandraRecords.open(session), since=began)
        found = Found(
            acts=stage.acts,
            ends=self.whole.fleet.ends,
            left=self._calling.left,
            accepted=len(accepted),
            by_http=publisher.by_http,
            answers=dict(publisher.answers),
            inboxes=await inboxes(session, accepted),
            mails=mails(self.whole.mails, accepted, self._calling.left, config.channels["email"].concurrency),
            dead_letters=sum(dead.values()),
            pending=[await finality.describe(event) for event in finality.last],
            account=account,
        )
        await session.close()
        return found


async def _script(simulator: str) -> None:
    body = msgspec.json.encode(FAR)
    async with aiohttp.ClientSession() as http, http.put(f"{simulator}/script", data=body) as answer:
        answer.raise_for_status()
