"""Kafka from a benchmark's side: filling topics fast, and seeing how far they are."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.producer.message_accumulator import BatchBuilder

Record = tuple[int, bytes, bytes]
_IN_FLIGHT = 64


@asynccontextmanager
async def producing(bootstrap: str) -> AsyncIterator[AIOKafkaProducer]:
    """A producer for record batches of up to half a MiB."""
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap, acks="all", max_batch_size=512 * 1024, max_request_size=8 << 20, linger_ms=5
    )
    await producer.start()
    try:
        yield producer
    finally:
        await producer.stop()


async def fill(bootstrap: str, topic: str, records: Iterable[Record]) -> int:
    """Write (partition, key, value) in order, as record batches; how many."""
    count, sent = 0, []
    async with producing(bootstrap) as producer:
        open_: dict[int, BatchBuilder] = {}
        for partition, key, value in records:
            count += 1
            batch = open_.get(partition)
            if batch is None:
                batch = open_[partition] = producer.create_batch()
            if batch.append(key=key, value=value, timestamp=None) is None:
                sent.append(await producer.send_batch(batch, topic, partition=partition))
                batch = open_[partition] = producer.create_batch()
                batch.append(key=key, value=value, timestamp=None)
                if len(sent) >= _IN_FLIGHT:
                    await asyncio.gather(*sent)
                    sent.clear()
        for partition, batch in open_.items():
            sent.append(await producer.send_batch(batch, topic, partition=partition))
        await asyncio.gather(*sent)
    return count


class Ends:
    """Where the ends of a topic's partitions are, over one connection."""

    def __init__(self, consumer: AIOKafkaConsumer, topic: str, partitions: int) -> None:
        self._consumer = consumer
        self._partitions = [TopicPartition(topic, number) for number in range(partitions)]

    async def total(self) -> int:
        """Records on the topic, if none was deleted."""
        ends = await self._consumer.end_offsets(self._partitions)
        return sum(ends.values())


@asynccontextmanager
async def ends(bootstrap: str, topic: str, partitions: int) -> AsyncIterator[Ends]:
    """Look at the ends of this topic."""
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap)
    await consumer.start()
    try:
        yield Ends(consumer, topic, partitions)
    finally:
        await consumer.stop()
