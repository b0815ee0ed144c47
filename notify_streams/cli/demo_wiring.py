"""What a run of the demo works with, picked and opened; imported while the engines start."""

import os
import tomllib
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import msgspec

from notify_streams import bootstrap, settings
from notify_streams.domain.hooks import Hook
from notify_streams.gateway import keys as ring
from notify_streams.gateway.keys import Key, Role
from notify_streams.local import addresses
from notify_streams.local.demo import examples
from notify_streams.local.demo.api import Api, Secrets
from notify_streams.local.demo.enrol import people
from notify_streams.local.demo.inboxes import Inboxes
from notify_streams.local.demo.lines import KEYS, Run
from notify_streams.local.demo.messages import PRODUCER
from notify_streams.local.demo.play import LogCount, Means, Played, play
from notify_streams.local.demo.report import Shown
from notify_streams.local.status import Status
from notify_streams.local.system import Plan
from notify_streams.providers.webhook import signing
from notify_streams.records.cassandra import CassandraRecords
from notify_streams.records.reconcile import reconcile
from notify_streams.settings import Settings
from notify_streams.stores.cassandra import connect

from .demo_screen import Screen


async def perform(
    plan: Plan, status: Status, run: Run, tokens: str, shown: Screen, ready: Awaitable[object], *, once: bool
) -> None:
    """Play and show; `ready` ends when every role serves. Raises ApiError, KafkaError, Unavailable."""
    programs = {row.name: row.address for row in status.rows if row.kind == "program"}
    hook = Hook(f"{run.key}-shop", f"{programs['simulator']}{PRODUCER}{run.name}", (run.source("/shop/*"),))
    secrets = _secrets(run, plan.state, tokens, hook)
    async with _means(plan.state, programs, secrets, ready, hook) as means:
        played = await play(means, run, shown.progress)
        shown.show(await _examples(means, played), None if once else means)


async def _examples(means: Means, played: Played) -> Shown:
    statuses = played.measured.statuses
    return Shown(
        played,
        await examples.inbox(means.api, statuses),
        await examples.mail(means.http, means.programs["simulator"], statuses, played.entries),
        await examples.untold(means.api, statuses),
    )


@asynccontextmanager
async def _means(
    state: Path, programs: dict[str, str], secrets: Secrets, ready: Awaitable[object], hook: Hook
) -> AsyncIterator[Means]:
    found = _settings_of(state)
    catalogue, limits = bootstrap.catalogue(found), bootstrap.limits(found)
    session = await connect(found.cassandra)
    try:
        records = await CassandraRecords.open(session)

        async def recount(since: int, until: int) -> LogCount:
            account = await reconcile(
                found.kafka, records, catalogue, limits, since=since, until=until, clock=lambda: until
            )
            return LogCount(account.published, account.unaccounted_count)

        async with aiohttp.ClientSession() as http:
            yield Means(
                settings=found,
                state=state,
                http=http,
                api=Api(http, programs["gateway"], secrets),
                programs=programs,
                records=records,
                inboxes=await Inboxes.open(session, [user["user_id"] for user in people()]),
                catalogue=catalogue,
                limits=limits,
                ready=lambda: ready,
                recount=recount,
                hook=hook,
            )
    finally:
        await session.close()


def _settings_of(state: Path) -> Settings:
    """Those of this process, with the addresses that the system got, wherever its state directory is."""
    written = tomllib.loads((state / addresses.FILE).read_text())
    cassandra, smtp = written["cassandra"], written["providers"]["smtp"]
    found = addresses.Addresses(
        kafka=written["kafka"]["bootstrap"],
        cassandra=(cassandra["hosts"][0], cassandra["port"]),
        redis=written["redis"]["url"],
        gateway=written["gateway"]["port"],
        smtp=smtp["url"],
    )
    return settings.load({**os.environ, **found.environment()})


def _secrets(run: Run, state: Path, tokens: str, hook: Hook) -> Secrets:
    """A key for each role, and one that wants to hear. They work until the next run, which revokes them first."""
    path, made_at = state / "keys.json", run.at.isoformat(timespec="seconds")
    for left in [key.name for key in ring.read(path) if key.name.startswith(KEYS)]:
        ring.revoke(path, left)
    names: dict[Role, str] = {"producer": run.key, "service": f"{run.key}-service", "operator": f"{run.key}-operator"}
    secrets = {role: ring.new_secret() for role in names}
    for role, name in names.items():
        key = Key(name=name, role=role, hash="", sources=(run.source("/*"),), created_at=made_at)
        ring.create(path, key, secrets[role])
    shop = Key(name=hook.name, role="producer", hash="", sources=hook.sources, created_at=made_at, webhook=hook.url)
    ring.create(path, msgspec.structs.replace(shop, webhook_secret=signing.new_secret()), ring.new_secret())
    return Secrets(secrets["producer"], secrets["service"], secrets["operator"], tokens)
