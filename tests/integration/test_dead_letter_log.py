"""The dead letters on a real broker: listed newest first, put back as they came."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from aiokafka import AIOKafkaProducer
from msgspec.structs import replace

from notify_streams import settings
from notify_streams.ports import Unavailable
from notify_streams.records.dead_letters import SHOWN_BYTES, DeadLetterLog, NoSuchLetter
from notify_streams.streaming import topics
from schemas import deadletters as names
from tests.workers import Kafka

EVENTS = topics.events("normal")


@pytest.fixture
async def config(kafka: settings.Kafka) -> settings.Kafka:
    own = replace(kafka, prefix=f"dl-{uuid4().hex[:8]}.", partitions=2)
    await topics.create(own, [t for t in topics.all_topics(own) if t.name in (topics.DEAD_LETTERS, EVENTS)])
    return own


@pytest.fixture
def log(config: settings.Kafka) -> DeadLetterLog:
    return DeadLetterLog(config)


async def back(config: settings.Kafka, folder: Path) -> list[Any]:
    return await Kafka(config, folder).read(EVENTS)


async def bury(config: settings.Kafka, number: int, *, value: bytes = b"{}", **changed: Any) -> None:
    """A letter as agents keep it, on partition `number` % 2."""
    headers = {
        "content-type": "application/cloudevents+json",
        names.ORIGINAL_TOPIC: config.prefix + EVENTS,
        names.ORIGINAL_PARTITION: str(number % 2),
        names.ORIGINAL_OFFSET: str(number),
        names.ORIGINAL_TIMESTAMP: "1",
        names.ATTEMPTS: "3",
        names.ERROR_CLASS: "Refused" if number % 3 else "ValidationError",
        names.ERROR: f"reason {number}",
        names.STAGE: "ingest",
        names.FAILED_AT: str(1_796_000_000_000 + number),
        names.VERSION: "0.1.0",
        **changed,
    }
    async with AIOKafkaProducer(bootstrap_servers=config.bootstrap, acks="all") as producer:
        await producer.send_and_wait(
            config.prefix + topics.DEAD_LETTERS,
            value,
            b"key-%d" % number,
            partition=number % 2,
            headers=[(name, text.encode()) for name, text in headers.items()],
        )


async def test_an_empty_log_has_no_letters(log: DeadLetterLog) -> None:
    assert await log.newest(10) == []


async def test_the_newest_come_first_and_can_be_narrowed(log: DeadLetterLog, config: settings.Kafka) -> None:
    for number in range(6):
        await bury(config, number)
    letters = await log.newest(4)
    assert [letter.error for letter in letters] == [f"reason {number}" for number in (5, 4, 3, 2)]
    assert (letters[0].id, letters[0].key, letters[0].attempts) == ("1-2", b"key-5", 3)
    by_class = await log.newest(10, error_class="ValidationError")
    assert [letter.offset for letter in by_class] == [3, 0]
    assert await log.newest(10, stage="inbox") == []


async def test_a_letter_that_is_no_letter_is_shown_all_the_same(log: DeadLetterLog, config: settings.Kafka) -> None:
    odd: dict[str, Any] = {names.FAILED_AT: "soon", names.ATTEMPTS: "-1", names.ORIGINAL_OFFSET: "9" * 30}
    await bury(config, 1, **odd)
    (letter,) = await log.newest(10)
    assert (letter.attempts, letter.offset) == (0, 0)
    assert letter.failed_at > 0


async def test_a_list_shows_the_beginning_of_what_is_long(log: DeadLetterLog, config: settings.Kafka) -> None:
    await bury(config, 0, value=b"x" * 200_000)
    (letter,) = await log.newest(10)
    assert letter.value == b"x" * SHOWN_BYTES


async def test_what_is_put_back_is_what_came_with_all_its_headers(
    log: DeadLetterLog, config: settings.Kafka, tmp_path: Path
) -> None:
    long = b"y" * 100_000
    await bury(config, 0, value=long)
    await bury(config, 1)
    await bury(config, 2)
    assert await log.redrive(["0-0", "1-0"]) == 2
    found = sorted(await back(config, tmp_path), key=lambda record: record.partition)
    assert [(r.partition, r.key, r.value) for r in found] == [(0, b"key-0", long), (1, b"key-1", b"{}")]
    headers = dict(found[0].headers)
    assert headers["content-type"] == b"application/cloudevents+json"
    assert headers[names.ATTEMPTS] == b"3"


@pytest.mark.parametrize("wrong", ["0-7", "9-0", "x", "", "0-", "-0", "0-0-0", "²-0"])
async def test_nothing_is_put_back_when_one_of_them_is_gone(
    log: DeadLetterLog, config: settings.Kafka, tmp_path: Path, wrong: str
) -> None:
    await bury(config, 0)
    with pytest.raises(NoSuchLetter):
        await log.redrive(["0-0", wrong])
    assert await back(config, tmp_path) == []


@pytest.mark.parametrize(
    "changed", [{names.ORIGINAL_TOPIC: "somebody.elses"}, {names.ORIGINAL_TOPIC: ""}, {names.ORIGINAL_PARTITION: "7"}]
)
async def test_a_letter_from_no_topic_of_ours_stays(
    log: DeadLetterLog, config: settings.Kafka, changed: dict[str, Any]
) -> None:
    await bury(config, 0, **changed)
    with pytest.raises(NoSuchLetter):
        await log.redrive(["0-0"])


async def test_a_broker_that_is_away_is_said_to_be() -> None:
    log = DeadLetterLog(settings.Kafka(bootstrap="127.0.0.1:1"))
    with pytest.raises(Unavailable):
        await log.newest(1)
    with pytest.raises(Unavailable):
        await log.redrive(["0-0"])
