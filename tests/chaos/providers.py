"""`scripts/chaos providers`: bad weather at every provider while senders are killed; then every call is accounted."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
from redis.asyncio import Redis
from redis.exceptions import RedisError

from notify_streams.domain.attempts import DeliveryStatus
from notify_streams.domain.status import fold
from notify_streams.local.demo.messages import MessageLog
from notify_streams.local.engines import LocalEngines
from notify_streams.local.programs import ROLES, SENDERS
from notify_streams.ports import Records
from notify_streams.records.account import Account
from notify_streams.records.cassandra import CassandraRecords
from notify_streams.stores.cassandra import connect
from notify_streams.streaming import topics
from tests.chaos import providers_plan
from tests.chaos.accounts import reconciled
from tests.chaos.finality import Finality
from tests.chaos.providers_account import Books, Left, books
from tests.chaos.providers_people import Wanted, enrol, events, people, wanted
from tests.chaos.providers_plan import CARRIED, PROVIDERS, Change, Plan, schedule, weather
from tests.chaos.publishing import Publisher
from tests.system.fleet import Ended
from tests.system.progress import Progress
from tests.system.whole import Whole

REDIS_TIMEOUT = "3s"  # on a crowded machine half a second is no outage of Redis, and none is wanted here
LIMITS = {"LOCK": "15s", "ATTEMPT_TIMEOUT": "4s", "RETRY__BASE": "500ms", "RETRY__CAP": "5s", "RETRY__ATTEMPTS": "40"}
SETTINGS = {
    "NOTIFY_KAFKA__SESSION_TIMEOUT": "8s",
    "NOTIFY_REDIS__TIMEOUT": REDIS_TIMEOUT,
    **{f"NOTIFY_CHANNELS__{channel.upper()}__{name}": value for channel in CARRIED for name, value in LIMITS.items()},
}
_READY_S, _AT_ONCE, _QUIET_S = 120.0, 500, 3.0
Say = Callable[[str], None]


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was counted. `settled_s` is from the last event and fine weather until all were final."""

    plan: Plan
    accepted: int
    books: Books
    account: Account
    kills: Counter[str]
    ends: list[Ended]
    storms: Counter[str]
    not_ready: list[str]
    unread: int
    dead_letters: int
    settled_s: float | None
    pending: list[str]


class Providers:
    """One run on running engines."""

    def __init__(self, directory: Path, engines: LocalEngines, plan: Plan, say: Say) -> None:
        self._plan, self._say = plan, say
        self._left: list[Left] = []
        self._kills, self._storms = Counter[str](), Counter[str]()
        self._not_ready: list[str] = []
        self._unread = 0
        self._redis = Redis.from_url(engines.addresses.redis or "", socket_timeout=5, socket_connect_timeout=2)
        self._log = MessageLog(directory)
        self.whole = Whole(
            directory,
            engines,
            extra=SETTINGS,
            roles=(*ROLES, *SENDERS),
            before_restart=self._look_at_keys,
            every_provider=True,
        )

    async def run(self) -> Found:
        """Publish through the weather, wait until nothing is open, and count. All has ended when it returns."""
        whole, plan, began = self.whole, self._plan, time.time_ns() // 1_000_000
        kafka, progress, started = whole.settings.kafka, Progress(whole.settings.kafka), time.monotonic()
        try:
            await whole.start()
            session = await connect(whole.settings.cassandra)
            users = people(plan.users)
            await enrol(whole.urls["gateway"], whole.urls["simulator"], users)
            self._say(f"{len(users):,} people enrolled after {time.monotonic() - started:.0f} s")
            publisher = Publisher(kafka, whole.urls["gateway"], events(plan.events, users))
            publisher.rate = 2 * plan.events / plan.span_s
            records = await CassandraRecords.open(session)
            finality = Finality(records, publisher.accepted)
            publishing = asyncio.create_task(publisher.run())
            await self._play(publisher)
            await publishing
            settled_s = await self._settled(finality, publisher)
            account = await reconciled(whole.settings, records, since=began)
            found = await self._count(publisher, finality, records, progress, account, settled_s)
            await session.close()
            return found
        finally:
            await whole.stop()
            await progress.close()
            await self._redis.aclose()

    async def _play(self, publisher: Publisher) -> None:
        began = time.monotonic()
        async with aiohttp.ClientSession(raise_for_status=True) as http, asyncio.TaskGroup() as killing:
            for change in schedule(self._plan):
                await asyncio.sleep(max(0.0, began + change.at - time.monotonic()))
                if change.trouble is None:
                    self._say(f"{change.at:6.1f} s  SIGKILL {change.whom}; {len(publisher.accepted):,} events accepted")
                    killing.create_task(self._kill(change.whom))
                else:
                    await self._forecast(http, change)
            await asyncio.sleep(max(0.0, began + self._plan.span_s - time.monotonic()))
            for provider in PROVIDERS:
                await self._forecast(http, Change(self._plan.span_s, provider, "fine"))

    async def _forecast(self, http: aiohttp.ClientSession, change: Change) -> None:
        body = msgspec.json.encode(weather(change.whom, change.trouble or "fine"))
        async with http.put(f"{self.whole.urls['simulator']}/weather", data=body):
            if change.trouble != "fine":
                self._storms[f"{change.whom} {change.trouble}"] += 1

    async def _kill(self, role: str) -> None:
        await self.whole.fleet.ready(role, limit_s=_READY_S)
        await self.whole.fleet.kill(role)
        self._kills[role] += 1
        try:
            await self.whole.fleet.ready(role, limit_s=_READY_S)
        except TimeoutError as error:
            self._not_ready.append(str(error))

    async def _settled(self, finality: Finality, publisher: Publisher) -> float | None:
        self._say(f"fine weather; {len(publisher.accepted):,} events accepted; waiting until all are final")
        settled_s = await finality.reached(limit_s=self._plan.settle_s, of=lambda: set(publisher.accepted))
        await asyncio.sleep(_QUIET_S)  # what comes a second time comes soon
        return settled_s

    async def _count(
        self,
        publisher: Publisher,
        finality: Finality,
        records: Records,
        progress: Progress,
        account: Account,
        settled_s: float | None,
    ) -> Found:
        deliveries = [one for event in publisher.accepted.values() for one in wanted(event)]
        statuses = await statuses_of(records, deliveries)
        return Found(
            plan=self._plan,
            accepted=len(publisher.accepted),
            books=books(deliveries, statuses, self._log.all(), self._left),
            account=account,
            kills=self._kills,
            ends=self.whole.fleet.ends,
            storms=self._storms,
            not_ready=self._not_ready,
            unread=self._unread,
            dead_letters=sum((await progress.ends([topics.DEAD_LETTERS])).values()),
            settled_s=settled_s,
            pending=[await finality.describe(event) for event in finality.last[:20]],
        )

    async def _look_at_keys(self, ended: Ended) -> None:
        """Before a sender is started again: which deliveries are being called for, by others as well."""
        if ended.name not in providers_plan.SENDERS:
            return
        try:
            names = [name async for name in self._redis.scan_iter("delivery:*", count=5000)]
            values: list[Any] = await self._redis.mget(names) if names else []
        except (RedisError, OSError):
            self._unread += 1
            return
        self._left.append(Left(ended.name, calling(zip(names, values, strict=True))))


async def statuses_of(records: Records, deliveries: Sequence[Wanted]) -> dict[str, DeliveryStatus]:
    """By delivery id; without those of which nothing is recorded. Raises Unavailable."""
    found: dict[str, DeliveryStatus] = {}
    ids = list(dict.fromkeys(one.notification_id for one in deliveries))
    for at in range(0, len(ids), _AT_ONCE):
        facts = await records.facts_of(ids[at : at + _AT_ONCE])
        statuses = [fold(id_, each) for id_, each in facts.items()]
        found |= {d.delivery_id: d for s in statuses if s for channel in s.channels for d in channel.deliveries}
    return found


def calling(keys: Iterable[tuple[bytes, bytes | None]]) -> frozenset[tuple[str, str]]:
    """Of delivery keys in Redis, those of a call that has not ended: the delivery, and whose attempt it is."""
    found = set()
    for name, value in keys:
        state, owner, attempt, *_ = (value or b"||").decode().split("|")
        if state == "calling":
            found.add((name.decode().partition(":")[2], f"{owner} {attempt}"))
    return frozenset(found)
