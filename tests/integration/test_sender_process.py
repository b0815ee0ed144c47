"""Sender processes on real engines: bad records, stops, kills and rebalances with many calls under way."""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from aiokafka.structs import ConsumerRecord

from notify_streams import settings
from notify_streams.local.child import Child
from notify_streams.streaming import topics
from notify_streams.streaming.partitions import Partitions
from schemas import deadletters as headers
from schemas.addresses import AddressGoneV1, SuppressAddressV1, decode_change
from schemas.codec import encode
from schemas.content import Content
from schemas.deliveries import DeliveryV1, decode_delivery
from schemas.outcomes import OutcomeV1, decode_outcome
from schemas.timers import PutTimerV1, decode_operation
from tests.builders import DAY, a_delivery, an_id
from tests.smtp_servers import RawServer, raw_server
from tests.workers import ROOT, Kafka

ROLE, MAILS = "sender-email", topics.deliveries("email", "normal")
ORDER = msgspec.Raw(b'{"order":"1","total":"3 EUR"}')


def a_mail(user: str) -> DeliveryV1:
    at = time.time_ns() // 1_000_000
    content = Content(payload=ORDER, address=f"{user}@example.com")
    return a_delivery(an_id(), user_id=user, accepted_at=at, expires_at=at + DAY, decided_at=at, content=content)


class Senders:
    """Workers `sender-email`, their broker, and the mailboxes that they reach."""

    def __init__(self, broker: Kafka, redis: settings.Redis, smtp: RawServer, folder: Path) -> None:
        self.broker, self.smtp, self._redis, self._folder = broker, smtp, redis, folder
        self._home = Partitions(broker.config.partitions).of
        self.children: list[Child] = []
        self.env: dict[str, str] = {}

    async def start(self, instance: int = 0) -> Child:
        kafka = msgspec.to_builtins(msgspec.structs.replace(self.broker.config, commit_interval="200ms"))
        child = Child(
            [str(Path(sys.executable).with_name("notify")), "worker", ROLE, "--instance", str(instance)],
            log=self._folder / f"{len(self.children)}.log",
            env={
                **{f"NOTIFY_KAFKA__{key}".upper(): str(value) for key, value in kafka.items()},
                "NOTIFY_REDIS__URL": self._redis.url,
                "NOTIFY_PROVIDERS__SMTP__URL": f"smtp://127.0.0.1:{self.smtp.port}",
                "NOTIFY_WORKER__DATA": str(self._folder / "data"),
                "NOTIFY_LOCAL__STATE": str(self._folder / "state"),
                **self.env,
            },
            cwd=ROOT,
        )
        await child.start()
        self.children.append(child)
        await self.broker.until(lambda: "Worker ready" in child.log.read_text() or child.exit_code is not None)
        assert child.exit_code is None, child.tail(30)
        return child

    async def deliver(self, *mails: DeliveryV1) -> None:
        records = [(self._home(m.user_id.encode()), m.user_id, encode(m).decode()) for m in mails]
        await self.broker.fill(MAILS, records)

    async def ended(self) -> Counter[str]:
        """States of all outcomes."""
        return Counter(o.state for o in await self.outcomes())

    async def outcomes(self) -> list[OutcomeV1]:
        read = [decode_outcome(r.value or b"") for r in await self.broker.read(topics.OUTCOMES)]
        return [o for o in read if isinstance(o, OutcomeV1)]

    async def due(self, attempt: int) -> list[DeliveryV1]:
        """What a timer would bring back after this attempt."""
        puts = [decode_operation(r.value or b"") for r in await self.broker.read(topics.TIMERS)]
        found = [decode_delivery(bytes(put.payload)) for put in puts if isinstance(put, PutTimerV1)]
        return [delivery for delivery in found if delivery.attempt == attempt + 1]

    def tried(self, user: str) -> list[bytes]:
        """How often the server was asked to take a mail for them."""
        return [line for line in self.smtp.heard if line.startswith(b"RCPT TO:<" + user.encode())]

    async def letters(self) -> "list[ConsumerRecord[bytes, bytes]]":
        return await self.broker.read(topics.DEAD_LETTERS)

    def mailed(self) -> Counter[str]:
        """How often each was written to, up to the end of the mail."""
        to = [mail.partition(b"To: ")[2].partition(b"@")[0].strip(b"< \r\n").decode() for mail in self.smtp.mails]
        return Counter(to)


@pytest.fixture
async def senders(broker: Kafka, redis: settings.Redis, tmp_path: Path) -> AsyncIterator[Senders]:
    await topics.create(broker.config, topics.all_topics(broker.config))
    async with raw_server() as smtp:
        running = Senders(broker, redis, smtp, tmp_path)
        yield running
        await asyncio.gather(*(child.kill() for child in running.children if child.pid))


async def test_a_poison_record_among_two_hundred_good_ones(senders: Senders) -> None:
    """RTY-10: 200 sent, the poison in the dead letters, lag 0, and not met again after a restart."""
    good = [a_mail("ann") for _ in range(200)]
    home = Partitions(senders.broker.config.partitions).of(b"ann")
    records = [(home, "ann", encode(mail).decode()) for mail in good]
    await senders.broker.fill(MAILS, [*records[:100], (home, "ann", '{"delivery_id": 7'), *records[100:]])
    child = await senders.start()
    await senders.broker.caught_up(MAILS, ROLE)
    assert await senders.ended() == {"sent": 200}
    [letter] = await senders.letters()
    assert letter.value == b'{"delivery_id": 7'
    await child.stop(30)
    again = await senders.start()
    await senders.broker.caught_up(MAILS, ROLE)
    await again.stop(30)
    assert (len(await senders.letters()), await senders.ended()) == (1, {"sent": 200})


async def test_an_orderly_stop_ends_the_calls_under_way_and_repeats_nothing(senders: Senders) -> None:
    """OPS-02: exit 0 within the grace; what was under way is recorded, what waited goes on in the next process."""
    senders.smtp.pause = 0.1
    mails = [a_mail(f"u{n}") for n in range(300)]
    child = await senders.start()
    await senders.deliver(*mails)
    await senders.broker.until(lambda: len(senders.smtp.mails) >= 20)
    began = time.monotonic()
    await child.stop(30)
    assert (child.exit_code, time.monotonic() - began < 30) == (0, True)
    called = len(senders.smtp.mails)
    assert (await senders.ended())["sent"] == called
    senders.smtp.pause = 0.0
    await senders.start()
    await senders.broker.caught_up(MAILS, ROLE)
    put_off = {o.delivery_id for o in await senders.outcomes() if o.state == "retrying"}
    sent = {o.delivery_id for o in await senders.outcomes() if o.state == "sent"}
    assert sent | put_off == {mail.delivery_id for mail in mails}
    assert max(senders.mailed().values()) == 1


async def test_killed_in_full_flow_nothing_is_lost_and_only_the_calls_under_way_are_in_doubt(senders: Senders) -> None:
    """OPS-01, IDM-05: what was under way rests as unknown, everything else goes on at once."""
    senders.smtp.pause = 0.05
    senders.env["NOTIFY_CHANNELS__EMAIL__CONCURRENCY"] = "16"
    mails = [a_mail(f"u{n}") for n in range(400)]
    child = await senders.start()
    await senders.deliver(*mails)
    await senders.broker.until(lambda: len(senders.smtp.mails) >= 60)
    await child.kill()
    senders.smtp.pause = 0.0
    await senders.start(instance=1)
    await senders.broker.caught_up(MAILS, ROLE, within=60)
    states: dict[str, set[str]] = {}
    for outcome in await senders.outcomes():
        states.setdefault(outcome.delivery_id, set()).add(outcome.state)
    assert set(states) == {mail.delivery_id for mail in mails}
    unknown = [known for known in states.values() if known == {"unknown"}]
    assert len(unknown) <= 16
    assert all("sent" in known or known == {"unknown"} for known in states.values())
    assert max(senders.mailed().values()) == 1


async def test_two_processes_share_the_work_through_a_rebalance_and_nobody_is_mailed_twice(senders: Senders) -> None:
    """KAF-12"""
    senders.smtp.pause = 0.02
    mails = [a_mail(f"u{n % 80}") for n in range(600)]
    await senders.start()
    await senders.deliver(*mails)
    await senders.broker.until(lambda: len(senders.smtp.mails) >= 60)
    second = await senders.start(instance=1)
    senders.smtp.pause = 0.0
    await asyncio.sleep(1)
    await second.stop(30)
    await senders.broker.caught_up(MAILS, ROLE, within=60)
    known = await senders.outcomes()
    assert {o.delivery_id for o in known} == {mail.delivery_id for mail in mails}
    sent = Counter(o.delivery_id for o in known if o.state == "sent")
    assert len(senders.smtp.mails) == len(sent)


async def test_words_about_addresses_and_dead_letters_come_with_the_outcomes(senders: Senders) -> None:
    """EML-01, EML-07, RTY-05: what is needed to redrive is in the dead letter."""
    senders.smtp.recipients |= {b"none": b"550 5.1.1 no such user", b"full": b"552 5.2.2 mailbox full"}
    await senders.start()
    broken = msgspec.structs.replace(a_mail("cid"), type="no.such.type")
    await senders.deliver(a_mail("ann"), a_mail("none"), a_mail("full"), broken)
    await senders.broker.caught_up(MAILS, ROLE)
    assert await senders.ended() == {"sent": 1, "failed": 3}
    words = [decode_change(r.value or b"") for r in await senders.broker.read(topics.ADDRESS_CHANGES)]
    assert {type(word) for word in words} == {AddressGoneV1, SuppressAddressV1}
    assert len(words) == 2
    [letter] = await senders.letters()
    told = {name: value.decode() for name, value in letter.headers}
    assert (letter.key, letter.value) == (b"cid", encode(broken))
    assert (told[headers.ORIGINAL_TOPIC].endswith(MAILS), told[headers.ERROR_CLASS]) == (True, "template_failed")


async def test_the_number_of_attempts_survives_a_restart_after_each_of_them(senders: Senders) -> None:
    """RTY-05: five in the server's log, then the dead letter, which says five; every process is a new one."""
    senders.smtp.recipients[b"ann"] = b"451 4.3.0 not now"
    senders.env["NOTIFY_CHANNELS__EMAIL__RETRY__ATTEMPTS"] = "5"
    await senders.deliver(a_mail("ann"))
    for attempt in range(1, 6):
        child = await senders.start()
        await senders.broker.caught_up(MAILS, ROLE)
        assert len(senders.tried("ann")) == attempt
        await (child.kill() if attempt % 2 else child.stop(30))
        await senders.deliver(*await senders.due(attempt))
    assert await senders.ended() == {"retrying": 4, "failed": 1}
    assert [o.attempt for o in sorted(await senders.outcomes(), key=lambda o: o.at)] == [1, 2, 3, 4, 5]
    [letter] = await senders.letters()
    assert dict(letter.headers)[headers.ATTEMPTS] == b"5"
