"""Topics read back from a place to their present end, without a group."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TypeAlias

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from notify_streams.settings import Kafka

Place = Mapping[int, int]
Raw: TypeAlias = "ConsumerRecord[bytes, bytes]"
_POLL_MS = 1000


async def end_of(kafka: Kafka, topic: str) -> Place:
    """By partition, the offset of the next record. Raises KafkaError."""
    async with _consumer(kafka) as consumer:
        ends = await consumer.end_offsets(_partitions(kafka, topic))
        return {tp.partition: end for tp, end in ends.items()}


async def records_since(kafka: Kafka, topic: str, start: Place) -> list[Raw]:
    """From `start` (0 where it does not say) to the end as it is now. Raises KafkaError."""
    found: list[Raw] = []
    async with _consumer(kafka) as consumer:
        partitions = _partitions(kafka, topic)
        firsts, ends = await consumer.beginning_offsets(partitions), await consumer.end_offsets(partitions)
        consumer.assign(partitions)
        left = set()
        for tp in partitions:
            at = max(firsts[tp], start.get(tp.partition, 0))
            consumer.seek(tp, at)
            if at < ends[tp]:
                left.add(tp)
        while left:
            met = await consumer.getmany(*left, timeout_ms=_POLL_MS)
            found += [record for records in met.values() for record in records]
            left = {tp for tp in left if await consumer.position(tp) < ends[tp]}
    return found


@asynccontextmanager
async def _consumer(kafka: Kafka) -> AsyncIterator[AIOKafkaConsumer]:
    consumer = AIOKafkaConsumer(
        bootstrap_servers=kafka.bootstrap, group_id=None, enable_auto_commit=False, auto_offset_reset="earliest"
    )
    try:
        await consumer.start()
        yield consumer
    finally:
        await consumer.stop()


def _partitions(kafka: Kafka, topic: str) -> list[TopicPartition]:
    return [TopicPartition(kafka.prefix + topic, partition) for partition in range(kafka.partitions)]
