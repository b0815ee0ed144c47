"""Inboxes through the whole system on real engines: read, grown, expired, and with their writer killed."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import pytest
from redis.asyncio import Redis as Client

from notify_streams.local.engines import LocalEngines
from notify_streams.settings import Cassandra, Kafka, Redis
from notify_streams.stores.inbox_keys import InboxKeys
from tests.e2e.test_decisions import ORDER, System, around_now, within
from tests.system.whole import Whole

ROLES = ("ingest", "orchestrator", "inbox", "scheduler", "recorder", "registry")
KILLS, USERS, ROUNDS = 3, 8, 12


@pytest.fixture
async def whole(
    kafka: Kafka, cassandra: Cassandra, redis: Redis, engines: LocalEngines, tmp_path: Path
) -> AsyncIterator[Whole]:
    mark = uuid4().hex[:8]
    extra = {"NOTIFY_KAFKA__PREFIX": f"inboxes-{mark}.", "NOTIFY_CASSANDRA__KEYSPACE": f"inboxes_{mark}"}
    whole = Whole(tmp_path / "system", engines, extra=extra, roles=ROLES, every_provider=True)
    try:
        await whole.start()
        yield whole
    finally:
        await whole.stop()


class Reader:
    """Somebody's inbox over HTTP."""

    def __init__(self, system: System, session: aiohttp.ClientSession, user: str) -> None:
        self._system, self._session, self.user, self._path = system, session, user, f"/v1/users/{user}/inbox"

    async def items(self) -> list[dict[str, Any]]:
        """The first page."""
        found: list[dict[str, Any]] = (await self._system.ask("GET", f"{self._path}?limit=100"))["items"]
        return found

    async def counts(self) -> tuple[int, int]:
        """Unread and unseen."""
        counts = await self._system.ask("GET", f"{self._path}/counts")
        return counts["unread"], counts["unseen"]

    async def has(self, number: int) -> list[dict[str, Any]]:
        """The items, once there are so many."""
        found: list[dict[str, Any]] = await within(self.items, lambda items: len(items) == number)
        return found

    async def speaks_of(self, number: int) -> list[dict[str, Any]]:
        """The one item there is, once it tells of so many notifications."""
        found: list[dict[str, Any]] = await within(self.items, lambda items: [i["count"] for i in items] == [number])
        return found

    async def counts_are(self, unread: int, unseen: int) -> None:
        """Once they are."""
        await within(self.counts, lambda counts: counts == (unread, unseen))

    async def mark(self, item: dict[str, Any], action: str) -> dict[str, int]:
        """The counts after it."""
        counts: dict[str, int] = await self._system.ask("POST", f"{self._path}/{item['item_id']}/{action}")
        return counts

    async def try_to_mark(self, item: dict[str, Any]) -> None:
        """Read, or taken and not confirmed in time."""
        async with self._session.post(f"{self._path}/{item['item_id']}/read") as answer:
            assert answer.status in (200, 202)


@pytest.mark.e2e
@pytest.mark.timeout(300)
async def test_what_is_read_is_not_sent_any_more_what_is_alike_grows_and_what_expires_leaves(whole: Whole) -> None:
    """ORD-01, INB-01, INB-04"""
    async with aiohttp.ClientSession(whole.urls["gateway"]) as session:
        system = System(session, whole.mails)
        await read_in_the_inbox(system, session)
        await grown_in_place(system, session)
        await expired(system, session)


async def read_in_the_inbox(system: System, session: aiohttp.ClientSession) -> None:
    """Its mail waits for the end of quiet hours, and is not sent then."""
    reader = Reader(system, session, await system.somebody(quiet_hours=[around_now()]))
    id_ = await system.publish("order.confirmed", reader.user, ORDER)
    await system.until(id_, "deferred")
    [item] = await reader.has(1)
    after = [await reader.mark(item, action) for action in ("read", "read", "unread", "read")]
    assert [(counts["unread"], counts["sequence"]) for counts in after] == [(0, 2), (0, 2), (1, 3), (0, 4)]
    mail = await system.until(id_, "cancelled")
    assert mail["reason"] == "read"
    assert [item["state"] for item in await reader.items()] == ["read"]


async def grown_in_place(system: System, session: aiohttp.ClientSession) -> None:
    """Six likes are one item, and after it was read the seventh makes it unread again."""
    reader = Reader(system, session, await system.somebody())
    like: dict[str, Any] = {"aggregation_key": f"post:{uuid4().hex}:likes"}
    for number in range(6):
        await system.publish("social.like", reader.user, {}, **like, actor={"id": f"u{number}", "name": f"N{number}"})
        [item] = await reader.speaks_of(number + 1)
    assert (item["actors"], item["others"]) == (["N5", "N4", "N3"], 3)
    assert await reader.counts() == (1, 1)
    assert (await reader.mark(item, "read"))["unread"] == 0
    await system.publish("social.like", reader.user, {}, **like, actor={"id": "u0", "name": "N0"})
    [grown] = await reader.speaks_of(7)
    assert (grown["item_id"], grown["state"], grown["others"]) == (item["item_id"], "unread", 3)
    assert await reader.counts() == (1, 1)


async def expired(system: System, session: aiohttp.ClientSession) -> None:
    """Nobody does anything; a timer takes it out of the counts."""
    reader = Reader(system, session, await system.somebody())
    soon = datetime.now(UTC) + timedelta(seconds=6)
    await system.publish("order.confirmed", reader.user, ORDER, expires_at=soon.isoformat())
    await reader.has(1)
    assert await reader.counts() == (1, 1)
    await within(reader.counts, lambda counts: counts == (0, 0))
    assert await reader.items() == []


@pytest.mark.e2e
@pytest.mark.timeout(300)
async def test_an_inbox_whose_writer_is_killed_in_the_middle_misses_and_repeats_nothing(whole: Whole) -> None:
    async with aiohttp.ClientSession(whole.urls["gateway"]) as session:
        system = System(session, whole.mails)
        readers = [Reader(system, session, f"user-{uuid4().hex[:8]}") for _ in range(USERS)]
        busy = asyncio.gather(*(written_and_read(system, reader) for reader in readers))
        for _ in range(KILLS):
            await asyncio.sleep(1.5)
            await whole.fleet.kill("inbox")
            await whole.fleet.ready("inbox")
        await busy
        for reader in readers:
            items = await reader.has(ROUNDS)
            unread = sum(item["state"] == "unread" for item in items)
            unseen = sum(not item["seen"] for item in items)
            await reader.counts_are(unread, unseen)
        await told_in_order(whole, [reader.user for reader in readers])


async def written_and_read(system: System, reader: Reader) -> None:
    """One after another, each third one read; an answer that does not come in time is no fault."""
    for number in range(ROUNDS):
        await system.publish("order.confirmed", reader.user, ORDER)
        if number % 3 == 2:
            items = await reader.items()
            if items:
                await reader.try_to_mark(items[0])
        await asyncio.sleep(0.3)


async def told_in_order(whole: Whole, users: list[str]) -> None:
    """Each tail has every sequence from 1 on once, and the last one has the counts of the header."""
    keys, client = InboxKeys.of(whole.settings.kafka), Client.from_url(whole.settings.redis.url)
    for user in users:
        kept: list[Any] = await client.zrange(keys.tail(user), 0, -1)
        frames = [json.loads(frame) for frame in kept]
        counts = json.loads(await client.get(keys.counts(user)) or b"{}")
        assert [frame["sequence"] for frame in frames] == list(range(1, len(frames) + 1))
        assert len(frames) >= ROUNDS
        if counts:
            last = frames[-1]
            assert (last["sequence"], last["unread"]) == (counts["sequence"], counts["unread"])
    await client.aclose()
