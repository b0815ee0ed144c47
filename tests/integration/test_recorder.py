"""The recorder between a real broker and a real Cassandra, and the account of what it recorded."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from time import time
from uuid import uuid4

import msgspec
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from agents import recorder
from notify_streams import bootstrap
from notify_streams.cli.reconcile import run
from notify_streams.cli.schema import create_tables
from notify_streams.domain.accept import Accepted, Record, accept
from notify_streams.domain.status import fold
from notify_streams.ports import Records, Unavailable
from notify_streams.records.cassandra import CassandraRecords
from notify_streams.settings import Cassandra, Kafka, Settings
from notify_streams.stores.cassandra import connect
from notify_streams.streaming import app as apps
from notify_streams.streaming import topics
from notify_streams.streaming.deadletters import DeadLetters
from schemas import deadletters
from schemas.codec import encode
from schemas.decisions import CatalogueV1, Defer, Deliver, Suppress
from schemas.notifications import NotificationV1
from schemas.outcomes import InboxOutcomesV1, InboxWrite
from schemas.profiles import ProfileV1
from schemas.receipts import InboundV1
from schemas.words import Reason, State
from tests.facts import a_decision, a_receipt, an_id, an_outcome
from tests.fakes import NO_REST


@pytest.fixture
async def known(kafka: Kafka, cassandra: Cassandra, tmp_path: Path) -> Settings:
    """Topics and tables of their own."""
    own = msgspec.structs.replace(kafka, prefix=f"rec-{uuid4().hex[:8]}.", partitions=2, commit_interval="200ms")
    settings = Settings(kafka=own, cassandra=msgspec.structs.replace(cassandra, keyspace="recorder"))
    settings = msgspec.structs.replace(
        settings, worker=msgspec.structs.replace(settings.worker, data=str(tmp_path / "state"))
    )
    await topics.create(own, topics.all_topics(own))
    await create_tables(settings)
    return settings


@pytest.fixture
async def records(known: Settings) -> AsyncIterator[CassandraRecords]:
    session = await connect(known.cassandra)
    yield await CassandraRecords.open(session)
    await session.close()


@pytest.fixture
async def producer(known: Settings) -> AsyncIterator[AIOKafkaProducer]:
    async with AIOKafkaProducer(bootstrap_servers=known.kafka.bootstrap) as opened:
        yield opened


@asynccontextmanager
async def recording(known: Settings, records: Records) -> AsyncIterator[None]:
    apps.data_directory(known, "recorder", 0).mkdir(parents=True)
    app = apps.build(known, "recorder")
    recorder.register(recorder.Recorder(app, records, DeadLetters("recorder", 20), NO_REST))
    await app.start()
    yield
    await app.stop()


async def eventually(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while not await holds():  # noqa: ASYNC110  another process's doing: there is no event to wait for
            await asyncio.sleep(0.05)


async def known_facts(records: Records, notification_id: str, count: int) -> bool:
    return len(await records.facts(notification_id)) >= count


async def has_profile(records: Records, user: str, profile: ProfileV1) -> bool:
    return await records.profile(user) == profile


async def test_facts_profiles_and_catalogues_are_kept_and_garbage_is_a_dead_letter(
    known: Settings, records: CassandraRecords, producer: AIOKafkaProducer
) -> None:
    one, user, prefix, hash_ = an_id(), an_id(), known.kafka.prefix, an_id()
    inbox = InboxOutcomesV1(at=int(time() * 1000), written=(InboxWrite(one, an_id(), 17),))
    sent: Sequence[tuple[str, bytes]] = [
        (topics.DECISIONS, encode(CatalogueV1(hash=hash_, body=msgspec.Raw(b'{"types":{}}')))),
        (topics.DECISIONS, encode(a_decision(notification_id=one, user_id=user))),
        (topics.OUTCOMES, b'{"schema":"outcome.v1","state":'),
        (topics.OUTCOMES, encode(an_outcome(notification_id="no uuid"))),
        (topics.OUTCOMES, encode(inbox)),
        (topics.OUTCOMES, encode(an_outcome(notification_id=one))),
        *((topics.PROFILES, encode(ProfileV1(version=version))) for version in (1, 2, 3)),
    ]
    async with recording(known, records):
        for topic, value in sent:
            await producer.send_and_wait(prefix + topic, value, key=user.encode(), partition=1)
        await eventually(lambda: known_facts(records, one, 3))
        buried = await _dead_letters(known, 2)
        await eventually(lambda: has_profile(records, user, ProfileV1(version=3)))
    assert await records.catalogue(hash_) == b'{"types":{}}'
    assert list(await records.notifications_of(user)) == [one]
    status = fold(one, await records.facts(one))
    assert status is not None
    assert [(c.channel, c.state) for c in status.channels] == [("inapp", State.SENT), ("email", State.SENT)]
    assert [letter[deadletters.ERROR_CLASS] for letter in buried] == [b"DecodeError", b"ValueError"]


async def test_receipts_are_kept_once_and_what_people_write_back_is_not_among_them(
    known: Settings, records: CassandraRecords, producer: AIOKafkaProducer
) -> None:
    """WHK-02, and a digest's receipt reaches its member."""
    digest, member, prefix = an_id(), an_id(), known.kafka.prefix
    text = InboundV1(inbound_id="i", channel="sms", provider="twilio", address_key="k", at=1, received_at=2, text="hi")
    bounced = a_receipt("bounced", notification_id=digest)
    sent: Sequence[tuple[str, bytes]] = [
        *[(topics.RECEIPTS, encode(bounced))] * 5,
        (topics.RECEIPTS, encode(text)),
        (topics.RECEIPTS, b'{"schema":"receipt.v9"}'),
        (topics.OUTCOMES, encode(an_outcome(notification_id=digest, members=(member,)))),
    ]
    async with recording(known, records):
        for topic, value in sent:
            await producer.send_and_wait(prefix + topic, value, key=b"user-42", partition=1)
        await eventually(lambda: known_facts(records, member, 2))
        [letter] = await _dead_letters(known, 1)
    assert letter[deadletters.ERROR_CLASS] == b"ValidationError"
    assert len(await records.facts(digest)) == 2
    status = fold(member, await records.facts(member))
    assert status is not None
    assert (status.state, status.channels[0].reason) == (State.FAILED, Reason.BOUNCED)
    failed = await records.failures("email", since=bounced.at, until=bounced.at + 1, limit=1000)
    assert bounced in failed


async def test_what_is_recorded_twice_is_the_same(
    known: Settings, records: CassandraRecords, producer: AIOKafkaProducer
) -> None:
    one = an_id()
    async with recording(known, records):
        for _ in range(3):
            for topic, value in (
                (topics.OUTCOMES, encode(an_outcome(notification_id=one))),
                (topics.DECISIONS, encode(a_decision(notification_id=one))),
            ):
                await producer.send_and_wait(known.kafka.prefix + topic, value, key=b"u", partition=0)
        end = an_id()
        await producer.send_and_wait(
            known.kafka.prefix + topics.DECISIONS, encode(a_decision(notification_id=end)), key=b"u", partition=0
        )
        await eventually(lambda: known_facts(records, end, 1))
        await eventually(lambda: known_facts(records, one, 2))
    assert len(await records.facts(one)) == 2


async def test_every_event_of_a_span_is_one_term_of_the_sum(
    known: Settings, records: CassandraRecords, producer: AIOKafkaProducer
) -> None:
    """The standing invariant of cases/README: published = accepted + rejected + tombstones + duplicates."""
    start = int(time() * 1000)
    made = [await _publish(known, producer, f"e{n}", lane) for n in range(7) for lane in ("high", "low")]
    await _publish(known, producer, "e1", "normal")
    for value in (
        b"{",
        None,
        None,
        b'{"specversion":"1.0","id":"x","source":"/s","type":"nope","data":{"payload":{}}}',
    ):
        await producer.send_and_wait(known.kafka.prefix + topics.events("normal"), value, key=b"k", partition=0)
    await _decide_all(records, made[:-2], start)
    account = await run(known, since=start - 1000, until=start + 600_000, grace_ms=0)
    assert (account.published, account.accepted, account.tombstones, account.rejected) == (19, 7, 2, 2)
    assert account.duplicates == 8
    assert account.rejections == {"invalid_json": 1, "unknown_type": 1}
    assert account.channels == {"inapp": {"sent": 6}, "email": {"pending": 6}, "push": {"suppressed": 6}}
    assert [case.event_id for case in account.unaccounted] == ["e6"]
    assert not account.adds_up()
    await _decide_all(records, made[-2:], start)
    assert (await run(known, since=start - 1000, until=start + 600_000, grace_ms=0)).adds_up()
    young = await run(known, since=start - 1000, until=start + 600_000, grace_ms=600_000, sample=0.5)
    assert young.adds_up()
    assert young.unsampled + young.accepted + young.duplicates == 15


async def test_what_is_younger_than_the_grace_is_under_way(
    known: Settings, records: CassandraRecords, producer: AIOKafkaProducer
) -> None:
    start = int(time() * 1000)
    await _publish(known, producer, "young", "normal")
    account = await run(known, since=start - 1000, until=start + 600_000)
    assert (account.unaccounted_count, account.in_flight_count) == (0, 1)
    assert [case.event_id for case in account.in_flight] == ["young"]
    nothing = await run(known, since=start + 60_000, until=start + 120_000)
    assert (nothing.published, nothing.adds_up()) == (0, True)


async def _publish(known: Settings, producer: AIOKafkaProducer, event_id: str, lane: str) -> NotificationV1:
    event = {
        "specversion": "1.0",
        "id": event_id,
        "source": "/tests",
        "type": "order.confirmed",
        "data": {"recipients": ["user-1"], "payload": {"order": "1", "total": "2 EUR"}},
    }
    catalogue = bootstrap.catalogue(known)
    event["data"]["payload"] = msgspec.json.decode(catalogue.types["order.confirmed"].sample)  # type: ignore[index]
    value = encode(event)
    name = f"{known.kafka.prefix}events.{lane}"
    place = await producer.send_and_wait(name, value, partition=0)
    record = Record(value=value, lane="normal", accepted_at=place.timestamp, origin="")
    accepted = accept(record, catalogue, bootstrap.limits(known))
    assert isinstance(accepted, Accepted), accepted
    return accepted.notifications[0]


async def _decide_all(records: Records, made: Sequence[NotificationV1], now: int) -> None:
    verdicts = (
        Deliver(channel="inapp", endpoint_ids=("inbox",)),
        Defer(channel="email", until=now + 3_600_000, reason=Reason.SCHEDULED),
        Suppress(channel="push", reason=Reason.NO_ENDPOINT),
    )
    await records.write(
        [
            fact
            for n in made
            for fact in (
                msgspec.structs.replace(a_decision(*verdicts, now=now), notification=n),
                an_outcome(notification_id=n.notification_id, channel="inapp", endpoint_id="inbox", at=now),
            )
        ]
    )


async def _dead_letters(known: Settings, count: int) -> list[dict[str, bytes]]:
    name = known.kafka.prefix + topics.DEAD_LETTERS
    found: list[dict[str, bytes]] = []
    consumer = AIOKafkaConsumer(name, bootstrap_servers=known.kafka.bootstrap, auto_offset_reset="earliest")
    async with consumer, asyncio.timeout(30):
        while len(found) < count:
            found.append(dict((await consumer.getone()).headers))
    return found


async def test_topics_that_are_missing_are_no_account_of_zero(known: Settings) -> None:
    elsewhere = msgspec.structs.replace(known, kafka=msgspec.structs.replace(known.kafka, prefix="nobodys."))
    with pytest.raises(Unavailable, match="notify topics create"):
        await run(elsewhere, since=0, until=1)
