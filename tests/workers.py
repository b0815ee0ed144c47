"""Processes of tests/streaming_apps.py from a test's side, and Kafka as it looks from outside."""

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition

from notify_streams import settings
from notify_streams.local.child import Child
from notify_streams.streaming import topics
from tests.streaming_apps import Spec

ROOT = Path(__file__).parents[1]
_TOPIC = {"cleanup.policy": "delete"}


class Handled(NamedTuple):
    """One line of a journal."""

    partition: int
    offset: int
    key: str
    value: str
    at: float


class Worker:
    """One process."""

    def __init__(self, spec: Spec, child: Child) -> None:
        self.spec, self.child = spec, child

    @property
    def journal(self) -> list[Handled]:
        """What it has handled."""
        path = Path(self.spec.journal)
        lines = path.read_text().splitlines() if path.exists() else []
        return [Handled(int(p), int(o), key, value, float(at)) for p, o, key, value, at in map(str.split, lines)]

    @property
    def values(self) -> Counter[str]:
        """How often it has handled each value."""
        return Counter(line.value for line in self.journal)

    @property
    def table(self) -> dict[str, str] | None:
        """What its table held when it was recovered; None before."""
        path = Path(self.spec.journal).with_suffix(".table")
        rows: dict[str, str] | None = json.loads(path.read_text()) if path.exists() else None
        return rows

    @property
    def is_muted(self) -> bool:
        """Whether it has met the value from which on nothing it sends reaches the broker."""
        return Path(self.spec.journal).with_suffix(".muted").exists()

    @property
    def directory(self) -> Path:
        """Its own data directory."""
        return Path(self.spec.data) / f"{self.spec.role}-{self.spec.instance}"

    @property
    def port(self) -> int:
        """Where its probes answer."""
        return int(Path(self.spec.journal).with_suffix(".port").read_text())

    @property
    def log(self) -> str:
        """All it said."""
        return self.child.log.read_text()

    @property
    def is_ready(self) -> bool:
        """Whether it has joined its group and recovered."""
        return "Worker ready" in self.log

    async def stats(self) -> dict[str, Any]:
        """Stop it in order; what it counted."""
        await self.child.stop(30)
        counts: dict[str, Any] = json.loads(Path(self.spec.journal).with_suffix(".stats").read_text())
        return counts


class Kafka:
    """Topics of one test, under a prefix of their own, and the workers on them."""

    def __init__(self, config: settings.Kafka, directory: Path) -> None:
        self.config, self.directory = config, directory
        self._workers: list[Worker] = []

    async def make(self, *names: str, **config: str) -> None:
        """Topics with the settings' number of partitions."""
        wanted = [
            topics.Topic(name, {**_TOPIC, **{k.replace("_", "."): v for k, v in config.items()}}) for name in names
        ]
        await topics.create(self.config, wanted)

    async def start(self, app: str, **fields: Any) -> Worker:
        """A worker; `data` is its own unless given."""
        number = len(self._workers)
        defaults = {
            "kafka": msgspec.to_builtins(self.config),
            "data": str(self.directory / f"data{number}"),
            "journal": str(self.directory / f"journal{number}"),
            "release": str(self.directory / "release"),
            "instance": number,
        }
        spec = msgspec.convert({**defaults, "app": app, **fields}, Spec)
        argv = [sys.executable, "-m", "tests.streaming_apps", msgspec.json.encode(spec).decode()]
        worker = Worker(spec, Child(argv, log=self.directory / f"worker{number}.log", cwd=ROOT))
        await worker.child.start()
        self._workers.append(worker)
        return worker

    def release(self) -> None:
        """Let go what is held."""
        (self.directory / "release").touch()

    async def fill(self, topic: str, records: Iterable[tuple[int, str, str | None]]) -> None:
        """Write (partition, key, value) in order."""
        producer = AIOKafkaProducer(bootstrap_servers=self.config.bootstrap, acks="all", linger_ms=2)
        await producer.start()
        try:
            name = self.config.prefix + topic
            sent = [
                await producer.send(name, None if v is None else v.encode(), key=k.encode(), partition=p)
                for p, k, v in records
            ]
            await asyncio.gather(*sent)
        finally:
            await producer.stop()

    async def send_at(self, topic: str, timestamps: Iterable[int]) -> None:
        """Records with these times (ms) of the producer's."""
        async with AIOKafkaProducer(bootstrap_servers=self.config.bootstrap, acks="all") as producer:
            for stamp in timestamps:
                await producer.send_and_wait(self.config.prefix + topic, b"{}", partition=0, timestamp_ms=stamp)

    async def mark(self, topic: str) -> None:
        """An aborted transaction on every partition: places that no reader sees, and a marker at the end."""
        name = self.config.prefix + topic
        async with AIOKafkaProducer(bootstrap_servers=self.config.bootstrap, transactional_id=name) as producer:
            await producer.begin_transaction()
            for partition in range(self.config.partitions):
                await producer.send_and_wait(name, b"1", key=b"u", partition=partition)
            await producer.commit_transaction()

    async def read(self, topic: str) -> list[ConsumerRecord[bytes, bytes]]:
        """Everything on a topic, in order per partition."""
        consumer = AIOKafkaConsumer(bootstrap_servers=self.config.bootstrap)
        await consumer.start()
        try:
            name = self.config.prefix + topic
            partitions = [TopicPartition(name, number) for number in range(self.config.partitions)]
            consumer.assign(partitions)
            await consumer.seek_to_beginning(*partitions)
            ends, found = await consumer.end_offsets(partitions), []
            while [tp for tp in partitions if await consumer.position(tp) < ends[tp]]:
                for records in (await consumer.getmany(timeout_ms=200)).values():
                    found += records
            return found
        finally:
            await consumer.stop()

    async def lag(self, topic: str, role: str = "tested") -> int:
        """Records between what the role's group has committed and the end."""
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self.config.bootstrap, group_id=self.config.prefix + role, enable_auto_commit=False
        )
        await consumer.start()
        try:
            partitions = [TopicPartition(self.config.prefix + topic, n) for n in range(self.config.partitions)]
            consumer.assign(partitions)
            ends = await consumer.end_offsets(partitions)
            return sum([ends[tp] - (await consumer.committed(tp) or 0) for tp in partitions])
        finally:
            await consumer.stop()

    async def caught_up(
        self, topic: str = "in", role: str = "tested", within: float = 90, said_by: Sequence[Child] = ()
    ) -> None:
        """Wait until the role has committed everything."""
        until = time.monotonic() + within
        while (left := await self.lag(topic, role)) > 0:
            assert time.monotonic() < until, f"{left} records left after {within} s: {self.tails(said_by)}"
            await asyncio.sleep(0.2)

    async def until(self, holds: Callable[[], object], within: float = 90) -> None:
        """Wait until it holds."""
        deadline = time.monotonic() + within
        while not holds():
            assert time.monotonic() < deadline, f"not within {within} s: {self.tails()}"
            await asyncio.sleep(0.05)

    async def until_true(self, asked: Callable[[], Awaitable[bool]], within: float = 90) -> None:
        """The same for a question that is asked of another process."""
        deadline = time.monotonic() + within
        while not await asked():
            assert time.monotonic() < deadline, f"not within {within} s: {self.tails()}"
            await asyncio.sleep(0.1)

    def tails(self, others: Sequence[Child] = ()) -> str:
        """The ends of the workers' logs, and of other processes'."""
        children = [*(worker.child for worker in self._workers), *others]
        return "\n".join(f"--- {child.log.name}\n{child.tail(8)}" for child in children)

    async def close(self) -> None:
        """Kill what is left."""
        await asyncio.gather(*(worker.child.kill() for worker in self._workers if worker.child.pid))


@pytest.fixture
async def broker(kafka: settings.Kafka, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Kafka]:
    """Topics under a prefix of this test's own, two partitions, short sessions; its workers end with it."""
    prefix = f"t{time.time_ns() // 1000 % 10**9}."
    config = msgspec.structs.replace(kafka, prefix=prefix, partitions=2, session_timeout="6s", commit_interval="200ms")
    place = Kafka(config, tmp_path)
    yield place
    await place.close()


def handled(*workers: Worker) -> Counter[str]:
    """How often each value was handled by all of them together."""
    return sum((worker.values for worker in workers), Counter())


def numbered(count: int, partition: int = 0, key: str = "u") -> list[tuple[int, str, str]]:
    """Records `0` to `count - 1` on one partition."""
    return [(partition, key, str(number)) for number in range(count)]
