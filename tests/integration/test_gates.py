"""Stops and senders on real engines: whatever is killed, started or lost in between, nothing stopped is sent."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from functools import partial
from pathlib import Path

import msgspec
import pytest
from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
from aiokafka.errors import OffsetOutOfRangeError

from notify_streams import settings
from notify_streams.domain.dedup import print_of
from notify_streams.domain.send_back import send_back
from notify_streams.local.child import Child
from notify_streams.streaming import topics
from notify_streams.streaming.partitions import Partitions
from schemas.codec import encode
from schemas.commands import PatchPreferencesV1, Preferences
from schemas.content import Content
from schemas.decisions import DecisionV1, Deliver, Suppress, decode_decision
from schemas.deliveries import DeliveryV1
from schemas.notifications import decode_notification
from schemas.outcomes import OutcomeV1, decode_outcome
from schemas.profiles import Address
from schemas.stops import StopV1, decode_gate
from schemas.words import Reason
from tests.builders import DAY, a_delivery, a_notification, a_profile, an_endpoint, an_id
from tests.smtp_servers import RawServer, raw_server
from tests.workers import ROOT, Kafka

ROLE, MAILS, LOG = "sender-email", topics.deliveries("email", "normal"), topics.gates_log("email")
ORDER = msgspec.Raw(b'{"order":"1","total":"3 EUR"}')


def now() -> int:
    return time.time_ns() // 1_000_000


def a_mail(user: str, version: int = 7) -> DeliveryV1:
    content = Content(payload=ORDER, address=f"{user}@example.com")
    at = now()
    return a_delivery(
        an_id(),
        user_id=user,
        accepted_at=at,
        expires_at=at + DAY,
        decided_at=at,
        profile_version=version,
        content=content,
    )


def cancelled(delivery: DeliveryV1, reason: Reason = Reason.CANCELLED) -> tuple[str, StopV1]:
    stop = StopV1(at=now(), until=now() + DAY, notification_id=delivery.notification_id, reason=reason)
    return delivery.user_id, stop


def opted_out(user: str) -> tuple[str, StopV1]:
    return user, StopV1(at=now(), until=now() + DAY, version=8)


class Senders:
    """`notify worker` processes, first of all senders, their broker, and the mailboxes that they reach."""

    def __init__(self, broker: Kafka, redis: settings.Redis, smtp: RawServer, folder: Path) -> None:
        self.broker, self._redis, self._smtp, self._folder = broker, redis, smtp, folder
        self._home = Partitions(broker.config.partitions).of
        self._children: list[Child] = []

    async def start(
        self, instance: int = 0, data: str = "data", *, role: str = ROLE, commit_interval: str = "200ms"
    ) -> Child:
        """Returns when it is ready; another `data` is a fresh disk."""
        kafka = msgspec.to_builtins(msgspec.structs.replace(self.broker.config, commit_interval=commit_interval))
        child = Child(
            [str(Path(sys.executable).with_name("notify")), "worker", role, "--instance", str(instance)],
            log=self._folder / f"{role}{len(self._children)}.log",
            env={
                **{f"NOTIFY_KAFKA__{key}".upper(): str(value) for key, value in kafka.items()},
                "NOTIFY_REDIS__URL": self._redis.url,
                "NOTIFY_PROVIDERS__SMTP__URL": f"smtp://127.0.0.1:{self._smtp.port}",
                "NOTIFY_WORKER__DATA": str(self._folder / data),
            },
            cwd=ROOT,
        )
        await child.start()
        self._children.append(child)
        await self.broker.until(lambda: "Worker ready" in child.log.read_text() or child.exit_code is not None)
        assert child.exit_code is None, child.tail(30)
        return child

    async def close(self) -> None:
        await asyncio.gather(*(child.kill() for child in self._children if child.pid))

    async def put(self, topic: str, records: Iterable[tuple[str, msgspec.Struct]]) -> None:
        """Each on its user's own partition, in order."""
        await self.broker.fill(topic, [(self._home(u.encode()), u, encode(record).decode()) for u, record in records])

    async def stop(self, *stops: tuple[str, StopV1]) -> None:
        await self.put(topics.STOPS, stops)

    async def deliver(self, *mails: DeliveryV1) -> None:
        await self.put(MAILS, [(mail.user_id, mail) for mail in mails])

    async def done(self) -> None:
        """All deliveries are worked off."""
        await self.broker.caught_up(MAILS, ROLE, said_by=self._children)

    @property
    def mailed(self) -> list[str]:
        """Who was written to, sorted."""
        return sorted(
            line.partition(b"<")[2].partition(b"@")[0].decode() for line in self._smtp.heard if line[:4] == b"RCPT"
        )

    async def outcomes(self) -> dict[str, tuple[str, Reason | None]]:
        """How each notification ended."""
        read = [decode_outcome(record.value or b"") for record in await self.broker.read(topics.OUTCOMES)]
        return {o.notification_id: (o.state, o.reason) for o in read if isinstance(o, OutcomeV1)}


@pytest.fixture
async def senders(broker: Kafka, redis: settings.Redis, tmp_path: Path) -> AsyncIterator[Senders]:
    await topics.create(broker.config, topics.all_topics(broker.config))
    async with raw_server() as smtp:
        running = Senders(broker, redis, smtp, tmp_path)
        yield running
        await running.close()


def names(mails: Sequence[DeliveryV1]) -> list[str]:
    return sorted(mail.user_id for mail in mails)


async def test_what_was_stopped_while_the_sender_was_down_is_not_sent_when_it_comes_back(senders: Senders) -> None:
    """PRF-01: queued behind a paused worker. The stops lie behind a backlog of others', the deliveries at the front."""
    mails = [a_mail(f"user{n}") for n in range(90)]
    go, stopped, off = mails[:30], mails[30:60], mails[60:]
    await senders.stop(*(opted_out(f"stranger{n}") for n in range(15_000)))
    await senders.deliver(*mails)
    await senders.stop(*(cancelled(mail) for mail in stopped), *(opted_out(mail.user_id) for mail in off))
    await senders.start()
    await senders.done()

    assert senders.mailed == names(go)
    outcomes = await senders.outcomes()
    assert {m.notification_id for m in go} == {id_ for id_, (state, _) in outcomes.items() if state == "sent"}
    assert {outcomes[mail.notification_id] for mail in stopped} == {("cancelled", Reason.CANCELLED)}
    back = [decode_notification(r.value or b"") for r in await senders.broker.read(topics.notifications("normal"))]
    assert sorted(map(encode, back)) == sorted(encode(send_back(mail)) for mail in off)
    assert not outcomes.keys() & {mail.notification_id for mail in off}


@pytest.mark.parametrize("after", ["data", "fresh"])
async def test_killed_between_handling_stops_and_committing_them_it_knows_them_all_the_same(
    senders: Senders, after: str
) -> None:
    """With its disk, where the gates may be further than what was committed, and without."""
    mails = [a_mail(f"user{n}") for n in range(20)]
    first = await senders.start(commit_interval="60s")
    await senders.stop(*(cancelled(mail, Reason.READ) for mail in mails[:10]))

    async def all_logged() -> bool:
        return len(await senders.broker.read(LOG)) >= 10

    await senders.broker.until_true(all_logged)
    await first.kill()
    assert await senders.broker.lag(topics.STOPS, ROLE) >= 10
    await senders.deliver(*mails)
    await senders.start(data=after)
    await senders.done()

    assert senders.mailed == names(mails[10:])
    outcomes = await senders.outcomes()
    assert {outcomes[mail.notification_id] for mail in mails[:10]} == {("cancelled", Reason.READ)}
    gates = {record.key: decode_gate(record.value or b"") for record in await senders.broker.read(LOG)}
    assert {key: list(gate.stopped) for key, gate in gates.items()} == {
        mail.user_id.encode(): [print_of(mail.notification_id)] for mail in mails[:10]
    }


async def retention_took_over(kafka: settings.Kafka) -> bool:
    """All but the marker of one partition is gone; False while the markers, which a commit does not wait for, lack."""
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    await admin.start()
    name = kafka.prefix + topics.STOPS
    try:
        await admin.delete_records({TopicPartition(name, p): RecordsToDelete(before_offset=1 + p) for p in (0, 1)})
    except OffsetOutOfRangeError:
        return False
    finally:
        await admin.close()
    return True


async def test_stops_that_hold_no_record_keep_no_delivery_waiting(senders: Senders) -> None:
    """One partition ends in a transaction's marker and holds nothing else, of the other retention took everything."""
    broker = senders.broker
    await broker.mark(topics.STOPS)
    await broker.until_true(partial(retention_took_over, broker.config))
    mails = [a_mail(f"user{n}") for n in range(10)]
    await senders.deliver(*mails)
    await senders.start()
    await senders.done()
    assert senders.mailed == names(mails)
    assert await broker.read(topics.DEAD_LETTERS) == []


async def test_through_rebalances_and_a_takeover_nothing_stopped_is_sent(senders: Senders) -> None:
    first = await senders.start()
    sent: list[DeliveryV1] = []

    async def round_of(name: str) -> None:
        mails = [a_mail(f"{name}{n}") for n in range(40)]
        await senders.stop(*(cancelled(mail) for mail in mails[::2]))
        await senders.deliver(*mails)
        sent.extend(mails[1::2])

    await round_of("alone")
    await senders.done()
    joining = asyncio.ensure_future(senders.start(1, "second"))
    while not joining.done():
        await round_of(f"joining{len(sent)}x")
        await asyncio.sleep(0.3)
    await joining
    await round_of("both")
    await senders.done()
    await first.kill()
    await round_of("taken")
    await senders.done()
    assert senders.mailed == names(sent)


async def test_a_stop_in_the_middle_of_the_wait_leaves_everything_to_the_next_process(senders: Senders) -> None:
    """It ends at once, has acknowledged nothing that waited, and nothing is put off."""
    mails = [a_mail(f"user{n}") for n in range(20)]
    await senders.stop(*(opted_out(f"stranger{n}") for n in range(60_000)), *(cancelled(mail) for mail in mails[:10]))
    await senders.deliver(*mails)
    first = await senders.start()

    async def marked() -> bool:
        return await senders.broker.lag(topics.STOPS, "nobody") > 60_010

    await senders.broker.until_true(marked)
    started = time.monotonic()
    await first.stop(20)
    assert (first.exit_code, time.monotonic() - started < 10) == (0, True)
    assert "gates.caught_up" not in first.log.read_text()
    assert (senders.mailed, await senders.outcomes()) == ([], {})
    await senders.start()
    await senders.done()
    assert senders.mailed == names(mails[10:])
    assert await senders.broker.read(topics.TIMERS) == []


async def test_opted_out_behind_a_paused_sender_it_is_decided_again_and_ends_there(senders: Senders) -> None:
    """PRF-01: queued, the whole way round. Bob changes something else meanwhile: his mail is sent, once."""
    at, people = now(), {"ann": Preferences(categories={"orders": {"email": False}}), "bob": Preferences(locale="de")}
    mailboxes = {user: an_endpoint(content=Address(f"{user}@example.com")) for user in people}
    await senders.put(topics.PROFILES, [(user, a_profile(mailbox)) for user, mailbox in mailboxes.items()])
    await senders.start(role="orchestrator")
    orders = {
        user: a_notification(
            notification_id=an_id(),
            user_id=user,
            accepted_at=at,
            expires_at=at + DAY,
            channels=("email",),
            content=Content(payload=ORDER),
        )
        for user in people
    }
    await senders.put(topics.notifications("normal"), orders.items())
    await senders.broker.caught_up(topics.notifications("normal"), "orchestrator")
    commands = {user: PatchPreferencesV1(command_id=user, patch=patch) for user, patch in people.items()}
    await senders.put(topics.USER_COMMANDS, commands.items())
    await senders.broker.caught_up(topics.USER_COMMANDS, "orchestrator")
    await senders.start()
    await senders.done()
    await senders.broker.caught_up(topics.notifications("normal"), "orchestrator")
    await senders.done()

    decisions = [decode_decision(r.value or b"") for r in await senders.broker.read(topics.DECISIONS)]
    verdicts = {
        (d.notification.user_id, d.notification.revision): d.verdicts[0] for d in decisions if isinstance(d, DecisionV1)
    }
    assert verdicts["ann", 1] == Suppress(channel="email", reason=Reason.OPTED_OUT_OF_CATEGORY)
    assert [isinstance(verdicts[key], Deliver) for key in (("ann", 0), ("bob", 0), ("bob", 1))] == [True] * 3
    assert senders.mailed == ["bob"]
    assert await senders.outcomes() == {orders["bob"].notification_id: ("sent", None)}
