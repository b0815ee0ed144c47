"""What follows from one input batch: records per topic and partition, sent as record batches."""

from collections.abc import Mapping, Sequence

from aiokafka import AIOKafkaProducer
from aiokafka.producer.message_accumulator import BatchBuilder
from faust.types import TP

Offsets = Mapping[TP, int]
Headers = Sequence[tuple[str, bytes]]


class TooLarge(ValueError):
    """A single record is larger than a record batch may be."""


class Outgoing:
    """Collects records; `flush` sends one record batch per topic and partition and waits for the broker.

    Within a topic and partition the order of `add` is kept. A record batch costs a third of what the same
    records cost one by one, and the partition is known: it is that of the record they follow from.
    """

    def __init__(self, producer: AIOKafkaProducer, prefix: str) -> None:
        self._producer = producer
        self._prefix = prefix
        self._batches: dict[TP, list[BatchBuilder]] = {}
        self.size = 0  # bytes of keys and values that wait for the flush

    def add(self, topic: str, partition: int, key: bytes | None, value: bytes | None, headers: Headers = ()) -> None:
        """Queue a record for the topic of this name without prefix; nothing is sent yet. Raises TooLarge."""
        batches = self._batches.setdefault(TP(self._prefix + topic, partition), [])
        if not batches or not _append(batches[-1], key, value, headers):
            batches.append(self._producer.create_batch())
            if not _append(batches[-1], key, value, headers):
                batches.pop()
                raise TooLarge(f"a record of {len(value or b'')} bytes for {topic} is larger than a batch")

        self.size += len(key or b"") + len(value or b"")

    async def flush(self) -> Offsets:
        """Send everything and wait until the broker has it; the last offset per topic and partition.

        Raises aiokafka.errors.KafkaError where a batch was refused; the input must then not be acknowledged.
        """
        sent = [
            (tp, batch.record_count(), await self._producer.send_batch(batch, tp.topic, partition=tp.partition))
            for tp, batches in self._batches.items()
            for batch in batches
        ]
        self._batches, self.size = {}, 0
        offsets: dict[TP, int] = {}
        for tp, count, future in sent:
            offsets[tp] = (await future).offset + count - 1
        return offsets


def _append(batch: BatchBuilder, key: bytes | None, value: bytes | None, headers: Headers) -> bool:
    """Whether it fitted: a full batch answers None, and the record would silently be missing."""
    return batch.append(key=key, value=value, timestamp=None, headers=list(headers)) is not None
