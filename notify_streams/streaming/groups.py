"""How far each role's consumer group is on the topics that it reads, asked of the broker."""

import asyncio
from collections.abc import Iterable, Mapping

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from notify_streams.ports import Unavailable
from notify_streams.settings import Kafka
from notify_streams.streaming import topics
from schemas.words import CHANNELS, LANES

_ANSWER_S = 10.0
SENDERS = tuple(f"sender-{channel}" for channel in CHANNELS if channel != "inapp")
READS: Mapping[str, tuple[str, ...]] = {
    "ingest": tuple(topics.events(lane) for lane in LANES),
    "orchestrator": (*(topics.notifications(lane) for lane in LANES), topics.USER_COMMANDS),
    "scheduler": (topics.TIMERS, topics.TICKS),
    "inbox": (*(topics.deliveries("inapp", lane) for lane in LANES), topics.INBOX_COMMANDS),
    **{
        f"sender-{channel}": (
            *(topics.deliveries(channel, lane) for lane in LANES),
            topics.STOPS,
            *((topics.DECISIONS, topics.OUTCOMES, topics.RECEIPTS) if channel == "webhook" else ()),
        )
        for channel in CHANNELS
        if channel != "inapp"
    },
    "recorder": (topics.DECISIONS, topics.OUTCOMES, topics.RECEIPTS, topics.PROFILES),
    "registry": (topics.ADDRESS_CHANGES,),
}


class Position(msgspec.Struct, frozen=True):
    """A role on one partition. `committed` is None where it never committed; `begin` and `end` are the log's."""

    role: str
    topic: str
    partition: int
    committed: int | None
    begin: int
    end: int

    @property
    def behind(self) -> int:
        """Records that are there and not done."""
        return max(0, self.end - max(self.committed or 0, self.begin))


async def positions(kafka: Kafka, wanted: Mapping[str, Iterable[str]]) -> list[Position]:
    """Of these roles on these topics (without prefix). Raises Unavailable."""
    names = sorted({name for names in wanted.values() for name in names})
    partitions = [TopicPartition(kafka.prefix + name, n) for name in names for n in range(kafka.partitions)]
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka.bootstrap, group_id=None, enable_auto_commit=False)
    try:
        async with asyncio.timeout(_ANSWER_S):
            await asyncio.gather(admin.start(), consumer.start())
            begins, ends = await consumer.beginning_offsets(partitions), await consumer.end_offsets(partitions)
            found = []
            for role, reads in wanted.items():
                done = await admin.list_consumer_group_offsets(kafka.prefix + role)
                for tp in (TopicPartition(kafka.prefix + name, n) for name in reads for n in range(kafka.partitions)):
                    committed = done[tp].offset if tp in done else None
                    topic = tp.topic.removeprefix(kafka.prefix)
                    found.append(Position(role, topic, tp.partition, committed, begins[tp], ends[tp]))
            return found
    except (KafkaError, OSError, TimeoutError) as error:
        raise Unavailable(f"asking {kafka.bootstrap} for its groups: {error!r}") from error
    finally:
        await asyncio.gather(admin.close(), consumer.stop())
