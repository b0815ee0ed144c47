"""The dead letters: the newest of them, one of them, and back on the topic that they came from."""

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError
from msgspec.structs import replace

from notify_streams.ports import Unavailable
from notify_streams.settings import Kafka
from notify_streams.streaming import topics
from schemas import deadletters as names
from schemas.deadletters import DeadLetter

MOST, SHOWN_BYTES = 1_000, 4_096
_POLL_MS = 1000
_ID = re.compile(r"([0-9]{1,6})-([0-9]{1,18})")


class NoSuchLetter(LookupError):
    """There is none of this id, or it is no longer kept."""


class DeadLetterLog:
    """Reads without a group. A letter's id is its place: PARTITION-OFFSET."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self._topic = kafka.prefix + topics.DEAD_LETTERS

    async def newest(self, limit: int, *, stage: str = "", error_class: str = "") -> Sequence[DeadLetter]:
        """At most `limit` of the last 1,000 of each partition, newest first, values cut to 4 KiB.

        Raises Unavailable.
        """
        found: list[DeadLetter] = []
        async with self._consumer() as consumer:
            partitions = [TopicPartition(self._topic, number) for number in range(self._kafka.partitions)]
            consumer.assign(partitions)
            begins, ends = await consumer.beginning_offsets(partitions), await consumer.end_offsets(partitions)
            left = {tp: ends[tp] for tp in partitions if begins[tp] < ends[tp]}
            consumer.pause(*(tp for tp in partitions if tp not in left))
            for tp, end in left.items():
                consumer.seek(tp, max(begins[tp], end - MOST))
            while left:
                for records in (await consumer.getmany(*left, timeout_ms=_POLL_MS)).values():
                    found += (_cut(letter_of(record)) for record in records)
                for tp in [tp for tp, end in left.items() if await consumer.position(tp) >= end]:
                    del left[tp]
                    consumer.pause(tp)
        fitting = [one for one in found if stage in ("", one.stage) and error_class in ("", one.error_class)]
        return sorted(fitting, key=lambda one: (-one.failed_at, one.id))[:limit]

    async def one(self, id_: str) -> DeadLetter:
        """Whole. Raises NoSuchLetter and Unavailable."""
        place = self._place(id_)
        async with self._consumer() as consumer:
            return letter_of(await _record(consumer, *place))

    async def redrive(self, ids: Sequence[str]) -> int:
        """Put them back as they came, onto the topic and partition they were on; how many.

        Raises NoSuchLetter before anything is put back (also for one that came from no topic of ours), and
        Unavailable: then some may be back already, which a repeat does no harm to.
        """
        places = [self._place(id_) for id_ in ids]
        async with self._consumer() as consumer:
            records = [await _record(consumer, *place) for place in places]
        ours = {self._kafka.prefix + topic.name for topic in topics.all_topics(self._kafka)}
        for record in records:
            letter = letter_of(record)
            if letter.topic not in ours or letter.partition >= self._kafka.partitions:
                raise NoSuchLetter(letter.id)
        producer = AIOKafkaProducer(bootstrap_servers=self._kafka.bootstrap, acks="all", enable_idempotence=True)
        try:
            await producer.start()
            for record in records:
                letter = letter_of(record)
                # with all its headers: a sender sees by them that it was put back, and attempts it again
                await producer.send_and_wait(
                    letter.topic, record.value, record.key, letter.partition, headers=list(record.headers)
                )
        except (KafkaError, OSError, TimeoutError) as error:
            raise Unavailable(f"the broker did not take a record: {error!r}") from error
        finally:
            await producer.stop()
        return len(records)

    def _place(self, id_: str) -> tuple[TopicPartition, int]:
        """Before anybody is asked. Raises NoSuchLetter for what can be none."""
        found = _ID.fullmatch(id_)
        if found is None or int(found[1]) >= self._kafka.partitions:
            raise NoSuchLetter(id_)
        return TopicPartition(self._topic, int(found[1])), int(found[2])

    @asynccontextmanager
    async def _consumer(self) -> AsyncIterator[AIOKafkaConsumer]:
        consumer = AIOKafkaConsumer(bootstrap_servers=self._kafka.bootstrap, group_id=None, enable_auto_commit=False)
        try:
            await consumer.start()
            yield consumer
        except (KafkaError, OSError, TimeoutError) as error:
            raise Unavailable(f"reading {self._topic} from {self._kafka.bootstrap}: {error!r}") from error
        finally:
            await consumer.stop()


async def _record(consumer: AIOKafkaConsumer, tp: TopicPartition, wanted: int) -> "ConsumerRecord[bytes, bytes]":
    none = NoSuchLetter(f"{tp.partition}-{wanted}")
    consumer.assign([tp])
    begins, ends = await consumer.beginning_offsets([tp]), await consumer.end_offsets([tp])
    if not begins[tp] <= wanted < ends[tp]:
        raise none
    consumer.seek(tp, wanted)
    while await consumer.position(tp) <= wanted:
        for record in (await consumer.getmany(tp, timeout_ms=_POLL_MS, max_records=1)).get(tp, []):
            if record.offset != wanted:
                raise none
            return record
    raise none


def letter_of(record: "ConsumerRecord[bytes, bytes]") -> DeadLetter:
    """As values. A header that is no number counts as 0: a letter is shown, whatever is in it."""
    found = {name: text.decode(errors="replace") for name, text in record.headers}
    return DeadLetter(
        id=f"{record.partition}-{record.offset}",
        topic=found.get(names.ORIGINAL_TOPIC, ""),
        partition=_number(found.get(names.ORIGINAL_PARTITION)),
        offset=_number(found.get(names.ORIGINAL_OFFSET)),
        timestamp=_number(found.get(names.ORIGINAL_TIMESTAMP)),
        attempts=_number(found.get(names.ATTEMPTS)),
        error_class=found.get(names.ERROR_CLASS, ""),
        error=found.get(names.ERROR, ""),
        stage=found.get(names.STAGE, ""),
        failed_at=_number(found.get(names.FAILED_AT)) or record.timestamp,
        version=found.get(names.VERSION, ""),
        key=record.key,
        value=record.value,
    )


def _cut(letter: DeadLetter) -> DeadLetter:
    value = letter.value
    return letter if value is None or len(value) <= SHOWN_BYTES else replace(letter, value=value[:SHOWN_BYTES])


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isdecimal() and len(text) < 19 else 0
