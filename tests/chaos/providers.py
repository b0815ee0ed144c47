"""`scripts/chaos providers`: providers in every bad weather, senders killed meanwhile, every delivery accounted for."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from notify_streams.domain.status import fold
from notify_streams.local.engines import LocalEngines
from notify_streams.local.programs import ROLES, SENDERS
from notify_streams.records.account import Account
from notify_streams.records.cassandra import CassandraRecords
from notify_streams.stores.cassandra import connect
from notify_streams.streaming import topics
from schemas.words import State
from tests.chaos import vendor_load
from tests.chaos.accounts import reconciled
from tests.chaos.calling import Calling
from tests.chaos.finality import Finality
from tests.chaos.publishing import Publisher
from tests.chaos.vendor_account import Sum, add_up, calls_of
from tests.system.fleet import Ended
from tests.system.progress import Progress
from tests.system.traffic import Event
from tests.system.whole import Whole

KILLED = ("sender-email", *SENDERS)
PROVIDERS = ("smtp", "ses", "sendgrid", "fcm", "apns", "webpush", "twilio", "webhook")
TROUBLES: dict[str, dict[str, Any]] = {
    "5xx": {"refused": 0.5, "code": 503},
    "429 for 2 s": {"refused": 0.5, "code": 429, "headers": {"Retry-After": "2"}},
    "resets": {"reset": 0.2},
    "no answers": {"dropped": 0.1},
    "hangs": {"hung": 0.1},
}
BUSY_MAIL = 451  # what SMTP has for both 503 and 429
_SHORT = {"RETRY__BASE": "500ms", "RETRY__CAP": "5s", "RETRY__ATTEMPTS": "20", "LOCK": "15s", "ATTEMPT_TIMEOUT": "3s"}
SETTINGS = {
    "NOTIFY_KAFKA__SESSION_TIMEOUT": "8s",
    "NOTIFY_CHANNELS__EMAIL__PROVIDERS": '["smtp", "ses", "sendgrid"]',
    **{
        f"NOTIFY_CHANNELS__{channel.upper()}__{key}": v for channel in vendor_load.CHANNELS for key, v in _SHORT.items()
    },
}
_REGISTERED_S, _FINAL_S = 120.0, 600.0
Say = Callable[[str], None]


class Plan(msgspec.Struct, frozen=True):
    """Deliveries of each channel; how long each trouble lasts, and how far apart the kills are, in seconds."""

    deliveries: int = 10_000
    users: int = 2_000
    trouble_s: float = 20.0
    kill_every_s: float = 7.0


QUICK = Plan(deliveries=500, users=200, trouble_s=8.0, kill_every_s=5.0)


class Found(msgspec.Struct, frozen=True):
    """Everything that was counted."""

    plan: Plan
    accepted: int
    sums: dict[str, Sum]
    strangers: int
    kills: list[str]
    ends: list[Ended]
    dead_letters: int
    pending: list[str]
    account: Account


class Vendors:
    """One run on running engines."""

    def __init__(self, directory: Path, engines: LocalEngines, plan: Plan, say: Say) -> None:
        self._plan, self._say, self._began = plan, say, time.monotonic()
        self._calling = Calling(engines.addresses.redis or "", *KILLED)
        self._kills: list[str] = []
        self.whole = Whole(
            directory,
            engines,
            extra=SETTINGS,
            roles=(*ROLES, *SENDERS),
            before_restart=self._calling.look,
            vendors=True,
        )

    async def run(self) -> Found:
        """Every trouble with kills, fine weather again, then the sums. Nothing is left running."""
        whole, began = self.whole, round(time.time() * 1000)
        kafka, progress = whole.settings.kafka, Progress(whole.settings.kafka)
        try:
            await whole.start()
            session = await connect(whole.settings.cassandra)
            await self._register(progress)
            source = vendor_load.events(self._plan.deliveries, vendor_load.users(self._plan.users))
            publisher = Publisher(kafka, whole.urls["gateway"], source)
            publisher.rate = self._plan.deliveries * 4 / (0.8 * len(TROUBLES) * self._plan.trouble_s)
            records = await CassandraRecords.open(session)
            finality = Finality(records, publisher.accepted)
            publishing = asyncio.create_task(publisher.run())
            await self._trouble(publisher)
            await publishing
            self._tell(f"fine weather; {len(publisher.accepted):,} events accepted")
            await finality.reached(limit_s=_FINAL_S, of=lambda: set(publisher.accepted))
            return await self._count(publisher.accepted, records, finality, progress, began)
        finally:
            await whole.stop()
            await progress.close()
            await self._calling.close()

    async def _register(self, progress: Progress) -> None:
        made = await vendor_load.claims(self.whole.urls["simulator"], self._plan.users)
        await vendor_load.register(self.whole.settings.kafka, made)
        for role in ("registry", "orchestrator"):
            if await progress.caught_up(role, limit_s=_REGISTERED_S) is None:
                raise RuntimeError(f"{role} has not taken {len(made):,} endpoints within {_REGISTERED_S:.0f} s")
        self._tell(f"{len(made):,} endpoints are known")

    async def _trouble(self, publisher: Publisher) -> None:
        """All providers at once, each with another trouble, which change places."""
        names = list(TROUBLES)
        victims = [KILLED[nth % len(KILLED)] for nth in range(1000)]
        async with aiohttp.ClientSession(self.whole.urls["simulator"]) as http:
            for phase in range(len(names)):
                until = time.monotonic() + self._plan.trouble_s
                for nth, provider in enumerate(PROVIDERS):
                    await _weather(http, provider, names[(phase + nth) % len(names)])
                told = ", ".join(f"{p}: {names[(phase + n) % len(names)]}" for n, p in enumerate(PROVIDERS))
                self._tell(f"{told}; {len(publisher.accepted):,} events accepted")
                while time.monotonic() < until:
                    await asyncio.sleep(min(self._plan.kill_every_s, max(0.0, until - time.monotonic())))
                    await self._kill(victims[len(self._kills)])
            for provider in PROVIDERS:
                await _weather(http, provider, "")

    async def _kill(self, role: str) -> None:
        self._tell(f"SIGKILL {role}")
        self._kills.append(role)
        await self.whole.fleet.kill(role)

    async def _count(
        self,
        accepted: dict[str, Event],
        records: CassandraRecords,
        finality: Finality,
        progress: Progress,
        began: int,
    ) -> Found:
        states = await _states(records, accepted.values())
        log = self.whole.directory / "simulator" / "mails.jsonl"
        calls, known = calls_of(log), {event.delivery_id for event in accepted.values()}
        sums = {
            channel: add_up(
                [event.delivery_id for event in accepted.values() if vendor_load.channel_of(event) == channel],
                states,
                calls,
                self._calling.left,
            )
            for channel in vendor_load.CHANNELS
        }
        return Found(
            plan=self._plan,
            accepted=len(accepted),
            sums=sums,
            strangers=sum(id_ not in known for id_ in calls),
            kills=self._kills,
            ends=self.whole.fleet.ends,
            dead_letters=sum((await progress.ends([topics.DEAD_LETTERS])).values()),
            pending=[await finality.describe(event) for event in finality.last],
            account=await reconciled(self.whole.settings, records, since=began),
        )

    def _tell(self, words: str) -> None:
        self._say(f"{time.monotonic() - self._began:6.1f} s  {words}")


async def _weather(http: aiohttp.ClientSession, provider: str, trouble: str) -> None:
    weather = dict(TROUBLES.get(trouble, {}))
    if provider == "smtp" and "code" in weather:
        weather["code"] = BUSY_MAIL
    async with http.put("/weather", json={"provider": provider, **weather}) as response:
        response.raise_for_status()


async def _states(records: CassandraRecords, events: Any) -> dict[str, State]:
    """By delivery id."""
    found, asked = dict[str, State](), list(events)
    for at in range(0, len(asked), 500):
        part = asked[at : at + 500]
        facts = await records.facts_of([event.notification_id for event in part])
        for event in part:
            status = fold(event.notification_id, facts[event.notification_id])
            if status is not None and status.channels:
                found[event.delivery_id] = status.channels[0].state
    return found
