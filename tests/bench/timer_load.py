"""Timers for a benchmark: what is put, and what came back when; to `events.{lane}`, which the broker stamps."""

import asyncio
import time
from collections.abc import Callable, Iterator

import msgspec
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from agents.schedule import DUE_HEADER
from notify_streams.settings import Kafka
from notify_streams.streaming import topics
from notify_streams.streaming.partitions import Partitions
from schemas.codec import encode
from schemas.timers import PutTimerV1
from schemas.words import LANES, Lane
from tests.bench.kafka import Record

USERS, TICK_S = 20_000, 0.02
LANE_SHARES: dict[Lane, float] = {"high": 0.1, "normal": 0.6, "low": 0.3}
_LANES: tuple[Lane, ...] = ("high", *("normal",) * 6, *("low",) * 3)
_TEXT = "x" * 280


class Payload(msgspec.Struct, frozen=True):
    """What tells one timer from another; `text` makes it as long as a notification."""

    series: str
    number: int
    text: str = _TEXT


class Released(msgspec.Struct, frozen=True):
    """One that came back: `at` is the broker's append time, both in ms."""

    series: str
    number: int
    lane: Lane
    due_at: int
    at: int


class _Named(msgspec.Struct, frozen=True):
    series: str
    number: int


def pending(kafka: Kafka, count: int, due_at: int) -> Iterator[Record]:
    """As many as asked for, of 20,000 users in turn, all due at one instant (ms), on all lanes."""
    of = Partitions(kafka.partitions).of
    for number in range(count):
        yield _timer(of, "great", number, due_at, _LANES[number % len(_LANES)])


async def steadily(
    kafka: Kafka, series: str, rate: float, *, until: float, stop: asyncio.Event | None = None, ahead_ms: int = 1000
) -> int:
    """Put HIGH timers at `rate` a second that are due `ahead_ms` later, until an instant (ms) or told; how many.

    Returns when the last is due.
    """
    of, started, count = Partitions(kafka.partitions).of, time.monotonic(), 0
    async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, acks="all") as producer:
        while time.time() * 1000 < until and not (stop is not None and stop.is_set()):
            for _ in range(int((time.monotonic() - started) * rate) - count):
                due_at = time.time_ns() // 1_000_000 + ahead_ms
                partition, key, value = _timer(of, series, count, due_at, "high")
                await producer.send(kafka.prefix + topics.TIMERS, value, key, partition=partition)
                count += 1
            await asyncio.sleep(TICK_S)
        await producer.flush()
    await asyncio.sleep(ahead_ms / 1000)
    return count


async def read_back(kafka: Kafka) -> list[Released]:
    """Everything that came back, from the beginning."""
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka.bootstrap, enable_auto_commit=False)
    await consumer.start()
    try:
        lanes = {
            TopicPartition(kafka.prefix + topics.events(lane), n): lane
            for lane in LANES
            for n in range(kafka.partitions)
        }
        left = {tp: end for tp, end in (await consumer.end_offsets(list(lanes))).items() if end}
        consumer.assign(list(left))
        await consumer.seek_to_beginning(*left)
        found: list[Released] = []
        decode = msgspec.json.Decoder(_Named).decode
        while left:
            for tp, records in (await consumer.getmany(*left, timeout_ms=500, max_records=5000)).items():
                for record in records:
                    named, due_at = decode(record.value or b""), int(dict(record.headers)[DUE_HEADER])
                    found.append(Released(named.series, named.number, lanes[tp], due_at, record.timestamp))
            left = {tp: end for tp, end in left.items() if await consumer.position(tp) < end}
        return found
    finally:
        await consumer.stop()


def _timer(of: Callable[[bytes], int], series: str, number: int, due_at: int, lane: Lane) -> Record:
    user = b"user-%06d" % (number % USERS)
    timer = PutTimerV1(
        timer_id=f"{series}/{number}",
        due_at=due_at,
        revision=1,
        target=topics.events(lane),
        payload=msgspec.Raw(encode(Payload(series, number))),
        lane=lane,
    )
    return of(user), user, encode(timer)
