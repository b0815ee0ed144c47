"""The tables of the real roles: recovered exactly after their disk was lost, and taken over by a second instance."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from notify_streams.domain import ids
from notify_streams.local.child import Child
from notify_streams.streaming import topics
from notify_streams.streaming.partitions import Partitions
from notify_streams.streaming.trust import MARK
from schemas.codec import encode
from schemas.content import Content
from schemas.deliveries import decode_delivery
from schemas.notifications import NotificationV1
from schemas.profiles import Address, Endpoint, ProfileV1
from schemas.timers import PutTimerV1
from tests.workers import ROOT, Kafka

USERS = [f"user{number}" for number in range(8)]


class Roles:
    """`notify worker ROLE` on one broker."""

    def __init__(self, broker: Kafka, directory: Path) -> None:
        self.broker, self.directory = broker, directory
        self._children: list[Child] = []

    async def start(self, role: str, instance: int = 0, data: str = "data") -> Child:
        """A worker; another `data` is a fresh disk."""
        kafka = msgspec.to_builtins(self.broker.config)
        environment = {f"NOTIFY_KAFKA__{key}".upper(): str(value) for key, value in kafka.items()}
        child = Child(
            [str(Path(sys.executable).with_name("notify")), "worker", role, "--instance", str(instance)],
            log=self.directory / f"{role}{instance}{data}.log",
            env={**environment, "NOTIFY_WORKER__DATA": str(self.directory / data)},
            cwd=ROOT,
        )
        before = child.log.read_text().count("Worker ready") if child.log.exists() else 0
        await child.start()
        self._children.append(child)
        await self.broker.until(
            lambda: child.log.read_text().count("Worker ready") > before or child.exit_code is not None
        )
        assert child.exit_code is None, child.tail(30)
        return child

    async def close(self) -> None:
        await asyncio.gather(*(child.kill() for child in self._children if child.pid))

    async def put(self, topic: str, user: str, record: msgspec.Struct) -> None:
        """One record on the user's own partition."""
        home = Partitions(self.broker.config.partitions).of(user.encode())
        await self.broker.fill(topic, [(home, user, encode(record).decode())])

    async def mails(self) -> dict[str, str]:
        """The address of every mail delivery, by notification id."""
        found = [decode_delivery(record.value or b"") for record in await self.broker.read("deliveries.email.normal")]
        return {mail.notification_id: (mail.content or Content()).address or "" for mail in found}


@pytest.fixture
async def roles(broker: Kafka, tmp_path: Path) -> AsyncIterator[Roles]:
    await topics.create(broker.config, topics.all_topics(broker.config))
    running = Roles(broker, tmp_path)
    yield running
    await running.close()


def a_notification(user: str, event: str, *, origin: str) -> NotificationV1:
    now = time.time_ns() // 1_000_000
    return NotificationV1(
        notification_id=ids.notification_id("tests", event, None, user),
        user_id=user,
        type="order.confirmed",
        source="tests",
        event_id=event,
        accepted_at=now,
        expires_at=now + 3_600_000,
        origin=origin,
        channels=("inapp", "email"),
        content=Content(payload=msgspec.Raw(b"{}")),
    )


async def test_profiles_and_user_state_survive_the_loss_of_the_disk_and_a_takeover(roles: Roles) -> None:
    """Proven by what the orchestrator does: it knows the addresses, and what it has seen before has no effect."""
    normal = topics.notifications("normal")
    for user in USERS:
        mailbox = Endpoint(channel="email", endpoint_id="e", verified=True, content=Address(f"{user}@example.org"))
        await roles.put(topics.PROFILES, user, ProfileV1(version=1, endpoints=(mailbox,)))
    first = await roles.start("orchestrator")
    for user in USERS:
        await roles.put(normal, user, a_notification(user, "one", origin="events/0/1"))
    await roles.broker.caught_up(normal, "orchestrator")
    await first.kill()

    await roles.start("orchestrator", data="fresh")
    for user in USERS:
        await roles.put(normal, user, a_notification(user, "one", origin="events/0/2"))
        await roles.put(normal, user, a_notification(user, "two", origin="events/0/3"))
    await roles.broker.caught_up(normal, "orchestrator")
    second = await roles.start("orchestrator", instance=1, data="second")
    await roles.broker.until(lambda: second.log.read_text().count("tables.restored") >= 1)
    for user in USERS:
        await roles.put(normal, user, a_notification(user, "two", origin="events/0/4"))
        await roles.put(normal, user, a_notification(user, "three", origin="events/0/5"))
    await roles.broker.caught_up(normal, "orchestrator")

    mails, sent = await roles.mails(), await roles.broker.read("deliveries.email.normal")
    effects = {record.value for record in sent}  # the same bytes once more are a repeat, which its sender drops
    assert len(effects) == len(mails) == 3 * len(USERS)
    for user in USERS:
        for event in ("one", "two", "three"):
            assert mails[ids.notification_id("tests", event, None, user)] == f"{user}@example.org"


async def test_tables_are_kept_after_a_stop_and_restored_after_a_kill(roles: Roles) -> None:
    mark = roles.directory / "data" / "orchestrator-0" / MARK
    first = await roles.start("orchestrator")
    for user in USERS:
        await roles.put(topics.notifications("normal"), user, a_notification(user, "one", origin="events/0/1"))
    await roles.broker.caught_up(topics.notifications("normal"), "orchestrator")
    await first.stop(20)
    assert mark.exists()

    before = len(first.log.read_text())
    second = await roles.start("orchestrator")
    said = second.log.read_text()[before:]
    assert "tables.restored records=0" in said
    assert "tables.distrusted" not in said
    assert not mark.exists()
    await second.kill()

    before = len(second.log.read_text())
    third = await roles.start("orchestrator")
    said = third.log.read_text()[before:]
    assert "tables.distrusted" in said
    assert f"tables.restored records={len(USERS)} " in said


async def test_timers_survive_the_loss_of_the_disk_and_a_takeover(roles: Roles) -> None:
    """Each comes back once, none before it is due."""
    due = time.time_ns() // 1_000_000 + 12_000
    first = await roles.start("scheduler")
    for user in USERS:
        timer = PutTimerV1(timer_id="t", due_at=due, revision=1, target=topics.STOPS, payload=msgspec.Raw(b'{"a":1}'))
        await roles.put(topics.TIMERS, user, timer)
    await roles.broker.caught_up(topics.TIMERS, "scheduler")
    await first.kill()
    await roles.start("scheduler", data="fresh")
    await roles.start("scheduler", instance=1, data="second")

    while len(back := await roles.broker.read(topics.STOPS)) < len(USERS):
        assert time.time() * 1000 < due + 20_000
        await asyncio.sleep(0.2)
    assert sorted((record.key or b"").decode() for record in back) == USERS
    assert all(record.timestamp >= due for record in back)
    await asyncio.sleep(1)
    assert len(await roles.broker.read(topics.STOPS)) == len(USERS)
