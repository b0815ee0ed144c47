"""The part of aiokafka's producer that `streaming.outgoing` uses: takes record batches, answers when it is told."""

import asyncio
from types import SimpleNamespace
from typing import Any, NamedTuple

from aiokafka.structs import TopicPartition


class Taken(NamedTuple):
    """One record that the broker has."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: dict[str, bytes]


class _Batch:
    def __init__(self) -> None:
        self.records: list[tuple[bytes | None, bytes | None, dict[str, bytes]]] = []

    def append(self, *, key: bytes | None, value: bytes | None, timestamp: None, headers: Any) -> bool:
        self.records.append((key, value, dict(headers)))
        return True

    def close(self) -> None:
        """No more records."""

    def record_count(self) -> int:
        return len(self.records)

    def size(self) -> int:
        return 0


class RawProducer:
    """`taken` is in order; while `holding` nothing is answered, until `answer` is called."""

    def __init__(self) -> None:
        self.taken: list[Taken] = []
        self.holding = False
        self.client = SimpleNamespace(_topics=set(), add_topic=lambda name: None)
        self._message_accumulator = self
        self._closed, self._exception, self._batch_size = False, None, 1 << 20
        self._waiting: list[asyncio.Future[Any]] = []

    def create_batch(self) -> _Batch:
        return _Batch()

    def _append_batch(self, batch: _Batch, tp: TopicPartition) -> Any:
        self.taken += [Taken(tp.topic, tp.partition, *record) for record in batch.records]
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        if not self.holding:
            self.answer()
        return SimpleNamespace(future=future)

    def answer(self) -> None:
        """Everything so far is acknowledged."""
        for future in self._waiting:
            future.set_result(SimpleNamespace(offset=0))
        self._waiting.clear()

    def values(self, topic: str) -> list[bytes]:
        """What came on a topic, in order."""
        return [record.value or b"" for record in self.taken if record.topic == topic]
