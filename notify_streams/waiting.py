"""What waits for a user, read from the log of the timers' table."""

import asyncio
from collections.abc import Sequence

from notify_streams.records import partition_log
from notify_streams.records.partition_log import Progress
from notify_streams.settings import Kafka
from notify_streams.streaming import topics
from notify_streams.streaming.partitions import Partitions
from tables.waiting import Waiting, WaitingOf


async def waiting_for(kafka: Kafka, user: str, *, progress: Progress | None = None) -> Sequence[Waiting]:
    """The earliest first; it needs the broker alone. What was released a moment ago may be among it.

    Raises Unavailable.
    """
    waiting, partition = WaitingOf(user), Partitions(kafka.partitions).of(user.encode())
    async for rows in partition_log.rows(kafka, topics.TIMERS_LOG, partition, progress=progress):
        waiting.take(rows)
        await asyncio.sleep(0)
    return waiting.all()
