"""What follows from one input batch: records per topic and partition, sent as record batches."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.structs import TopicPartition
from faust.types import TP

Offsets = Mapping[TP, int]
Headers = Sequence[tuple[str, bytes]]


class TooLarge(ValueError):
    """A single record is larger than a record batch may be."""


class Sent:
    """Record batches on their way."""

    def __init__(self, waiting: list[tuple[TP, int, "asyncio.Future[Any]"]]) -> None:
        self._waiting = waiting

    async def acknowledged(self) -> Offsets:
        """Wait until the broker has everything; the last offset per topic and partition.

        Raises aiokafka.errors.KafkaError where a batch was refused; the input must then not be acknowledged.
        """
        if self._waiting:
            await asyncio.wait([future for _, _, future in self._waiting])
        return {tp: future.result().offset + count - 1 for tp, count, future in self._waiting}


class Outgoing:
    """Collects records; `send` hands over one record batch per topic and partition.

    Within a topic and partition the order of `add` is kept, and that of `send` between several of these. A record
    batch costs a third of what the same records cost one by one, and the partition is known: it is that of the
    record they follow from.
    """

    def __init__(self, producer: AIOKafkaProducer, prefix: str) -> None:
        self._producer, self._prefix = producer, prefix
        self._batches: dict[tuple[str, int], list[BatchBuilder]] = {}
        self.size = 0  # bytes of keys and values that wait to be sent

    def add(self, topic: str, partition: int, key: bytes | None, value: bytes | None, headers: Headers = ()) -> None:
        """Queue a record for the topic of this name without prefix; nothing is sent yet. Raises TooLarge."""
        batches = self._batches.get((topic, partition))
        if batches is None:
            batches = self._batches[topic, partition] = []
        # A full batch answers None, and the record would silently be missing.
        if not batches or batches[-1].append(key=key, value=value, timestamp=None, headers=list(headers)) is None:
            batches.append(self._started(key, value, headers))
        self.size += len(key or b"") + len(value or b"")

    def send(self) -> Sent:
        """Hand everything to the producer, without an await.

        So records of one key that two agents wrote to a table one after the other reach its changelog in that
        order. aiokafka's own `send_batch` waits while the partition has a batch queued: another agent gets ahead.
        """
        accumulator: Any = self._producer._message_accumulator
        if accumulator._closed or accumulator._exception is not None:
            raise accumulator._exception or ConnectionError("the producer is closed")
        waiting = []
        for (topic, partition), batches in self._batches.items():
            name = self._prefix + topic
            if name not in self._producer.client._topics:
                self._producer.client.add_topic(name)
            for batch in batches:
                batch.close()  # an open one would linger
                queued = accumulator._append_batch(batch, TopicPartition(name, partition))
                waiting.append((TP(name, partition), batch.record_count(), queued.future))
        self._batches, self.size = {}, 0
        return Sent(waiting)

    async def flush(self) -> Offsets:
        """Send everything and wait until the broker has it; see `Sent.acknowledged`."""
        return await self.send().acknowledged()

    def _started(self, key: bytes | None, value: bytes | None, headers: Headers) -> BatchBuilder:
        batch = self._producer.create_batch()
        batch.append(key=key, value=value, timestamp=None, headers=list(headers))
        if batch.size() > self._producer._message_accumulator._batch_size:  # the first one is never refused
            raise TooLarge(f"a record of {len(value or b'')} bytes is larger than a batch")
        return batch
