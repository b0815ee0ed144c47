"""Where a replay reads: a topic as it stands on the broker, by a consumer without a group."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple, Protocol

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError

from notify_streams.ports import Unavailable
from notify_streams.replay import plan
from notify_streams.replay.derive import Raw
from notify_streams.replay.plan import Selection, Span
from notify_streams.settings import Kafka
from notify_streams.streaming import topics

_AT_ONCE, _POLL_MS = 2000, 1000


class Fetched(NamedTuple):
    """Records of one partition in their order; what comes after them begins at `position`."""

    partition: int
    records: Sequence[Raw]
    position: int


class Source(Protocol):
    """A log that stands still between the offsets asked for."""

    async def spans(self, selection: Selection) -> Mapping[int, Span]:
        """What the selection comes to. Raises PlanError and Unavailable."""

    def read(self, spans: Mapping[int, Span]) -> AsyncIterator[Fetched]:
        """All of that, partition by partition or mixed; of each the last word is its end. Raises Unavailable."""


class LiveTopic:
    """A topic on the broker."""

    def __init__(self, kafka: Kafka, topic: str) -> None:
        self._kafka, self._topic = kafka, topic

    async def spans(self, selection: Selection) -> Mapping[int, Span]:
        """See Source."""
        await self._check()
        async with self._consumer() as consumer:
            partitions = [TopicPartition(self._kafka.prefix + self._topic, n) for n in range(self._kafka.partitions)]
            begins, ends = await consumer.beginning_offsets(partitions), await consumer.end_offsets(partitions)
            log = {tp.partition: (begins[tp], ends[tp]) for tp in partitions}
            if not selection.is_timed:
                return plan.spans(selection, log)
            since, until = selection.since or 0, selection.until
            first = await consumer.offsets_for_times(dict.fromkeys(partitions, since))
            after = {} if until is None else await consumer.offsets_for_times(dict.fromkeys(partitions, until))
            timed = {
                tp.partition: (first[tp].offset, after[tp].offset if after.get(tp) else ends[tp])
                for tp in partitions
                if first[tp] is not None
            }
            return plan.spans(selection, log, timed, await _held(consumer, log, self._kafka.prefix + self._topic))

    async def read(self, spans: Mapping[int, Span]) -> AsyncIterator[Fetched]:
        """See Source."""
        left = {TopicPartition(self._kafka.prefix + self._topic, p): end for p, (_, end) in spans.items()}
        async with self._consumer() as consumer:
            consumer.assign(list(left))
            for tp in left:
                consumer.seek(tp, spans[tp.partition][0])
            while left:
                met = await consumer.getmany(*left, timeout_ms=_POLL_MS, max_records=_AT_ONCE)
                for tp, records in met.items():
                    within = [_raw(record) for record in records if record.offset < left[tp]]
                    yield Fetched(tp.partition, within, min(await consumer.position(tp), left[tp]))
                for tp in [tp for tp, end in left.items() if await consumer.position(tp) >= end]:
                    yield Fetched(tp.partition, (), left.pop(tp))
                    consumer.pause(tp)

    async def _check(self) -> None:
        faults = await topics.check(self._kafka, [topics.Topic(self._topic, {})])
        if faults:
            raise Unavailable("; ".join(faults) + ": run `notify topics create`")

    @asynccontextmanager
    async def _consumer(self) -> AsyncIterator[AIOKafkaConsumer]:
        consumer = AIOKafkaConsumer(bootstrap_servers=self._kafka.bootstrap, group_id=None, enable_auto_commit=False)
        try:
            await consumer.start()
            yield consumer
        except (KafkaError, OSError, TimeoutError) as error:
            name = self._kafka.prefix + self._topic
            raise Unavailable(f"reading {name} from {self._kafka.bootstrap}: {error!r}") from error
        finally:
            await consumer.stop()


async def _held(consumer: AIOKafkaConsumer, log: Mapping[int, Span], name: str) -> Span | None:
    """The instants of the oldest and the newest record."""
    ends = [TopicPartition(name, p) for p, (begin, end) in log.items() if begin < end]
    consumer.assign(ends)
    stamps: list[int] = []
    for tp in ends:
        begin, end = log[tp.partition]
        for offset in (begin, end - 1):
            consumer.seek(tp, offset)
            found = (await consumer.getmany(tp, timeout_ms=_POLL_MS, max_records=1)).get(tp, [])
            stamps += [record.timestamp for record in found]
    return (min(stamps), max(stamps)) if stamps else None


def _raw(record: "ConsumerRecord[bytes, bytes]") -> Raw:
    headers = dict(record.headers) if record.headers else {}
    return Raw(record.partition, record.offset, record.timestamp, record.key, record.value, headers)
