"""The events of a span of time, read back from their topics: every lane, every partition, no group."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

import msgspec
from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError

from notify_streams.domain.accept import Record
from notify_streams.ports import Unavailable
from notify_streams.settings import Kafka
from notify_streams.streaming import topics
from schemas.words import LANES, Lane

_AT_ONCE = 2000
_POLL_MS = 1000
Progress = Callable[[int, int], None]


class Logged(msgspec.Struct, frozen=True):
    """A record of an events topic. `value` is None for a tombstone; then `record` says nothing but its place."""

    record: Record
    tombstone: bool


async def events(
    kafka: Kafka, *, since: int, until: int, progress: Progress | None = None
) -> AsyncIterator[Sequence[Logged]]:
    """What was appended from `since` to before `until` (ms), in batches; `progress` is told offsets done and all.

    Raises Unavailable.
    """
    faults = await topics.check(kafka, [topics.Topic(topics.events(lane), {}) for lane in LANES])
    if faults:
        raise Unavailable("; ".join(faults) + ": run `notify topics create`")
    async with _consumer(kafka) as consumer:
        lanes = {tp: _lane(tp, kafka) for tp in consumer.assignment()}
        spans = await _spans(consumer, list(lanes), since, until)
        done, all_ = 0, sum(end - start for start, end in spans.values())
        consumer.pause(*lanes.keys() - spans.keys())
        for tp, (start, _) in spans.items():
            consumer.seek(tp, start)
        left = {tp: end for tp, (_, end) in spans.items()}
        while left:
            met = await consumer.getmany(*left, timeout_ms=_POLL_MS, max_records=_AT_ONCE)
            for tp, records in met.items():
                within = [record for record in records if record.offset < left[tp]]
                yield [_logged(record, lanes[tp]) for record in within]
            for tp in list(left):
                if await consumer.position(tp) >= left[tp]:
                    del left[tp]
                    consumer.pause(tp)
            if progress is not None:
                done = all_ - sum([end - await consumer.position(tp) for tp, end in left.items()])
                progress(done, all_)


@asynccontextmanager
async def _consumer(kafka: Kafka) -> AsyncIterator[AIOKafkaConsumer]:
    """Without a group, on all partitions as the broker knows them."""
    names = [kafka.prefix + topics.events(lane) for lane in LANES]
    consumer = AIOKafkaConsumer(
        *names, bootstrap_servers=kafka.bootstrap, group_id=None, enable_auto_commit=False, auto_offset_reset="earliest"
    )
    try:
        await consumer.start()
        yield consumer
    except (KafkaError, OSError, TimeoutError) as error:
        raise Unavailable(f"reading events from {kafka.bootstrap}: {error!r}") from error
    finally:
        await consumer.stop()


def _lane(tp: TopicPartition, kafka: Kafka) -> Lane:
    return next(lane for lane in LANES if tp.topic == kafka.prefix + topics.events(lane))


async def _spans(
    consumer: AIOKafkaConsumer, partitions: list[TopicPartition], since: int, until: int
) -> Mapping[TopicPartition, tuple[int, int]]:
    """First offset and the one after the last, for partitions that have any record of the span."""
    ends = await consumer.end_offsets(partitions)
    first = await consumer.offsets_for_times(dict.fromkeys(partitions, since))
    after = await consumer.offsets_for_times(dict.fromkeys(partitions, until))
    spans = {
        tp: (first[tp].offset, ends[tp] if after[tp] is None else after[tp].offset)
        for tp in partitions
        if first[tp] is not None
    }
    return {tp: (start, end) for tp, (start, end) in spans.items() if start < end}


def _logged(record: "ConsumerRecord[bytes, bytes]", lane: Lane) -> Logged:
    return Logged(
        Record(
            value=record.value or b"",
            key=record.key,
            headers=dict(record.headers),
            lane=lane,
            accepted_at=record.timestamp,
            origin=f"{record.topic}/{record.partition}/{record.offset}",
        ),
        record.value is None,
    )
