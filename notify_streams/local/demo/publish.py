"""The hour on its way: to the topics as producers write them, to the gateway as callers post."""

import asyncio
from collections.abc import Callable, Sequence

from aiokafka import AIOKafkaProducer

from notify_streams.settings import Kafka
from notify_streams.streaming import topics

from .api import Answer, Api
from .lines import EventRecord, Post

_AT_ONCE = 8
_TOMBSTONE = b"gone"  # a record without key and value is not to be had


async def to_topics(kafka: Kafka, records: Sequence[EventRecord], done: Callable[[], None]) -> int:
    """In order; how many the broker acknowledged. Raises KafkaError."""
    producer = AIOKafkaProducer(
        bootstrap_servers=kafka.bootstrap, client_id="notify-demo", acks="all", enable_idempotence=True, linger_ms=5
    )
    await producer.start()
    try:
        waiting = []
        for record in records:
            name, key = kafka.prefix + topics.events(record.lane), _TOMBSTONE if record.value is None else None
            future = await producer.send(name, record.value, key, headers=list(record.headers.items()))
            future.add_done_callback(lambda ended: None if ended.cancelled() or ended.exception() else done())
            waiting.append(future)
        return len(await asyncio.gather(*waiting))
    finally:
        await producer.stop()


async def over_http(api: Api, posts: Sequence[Post], done: Callable[[], None]) -> list[Answer]:
    """A few at a time, begun in order; the answers. Raises ApiError when there is none."""
    slots = asyncio.Semaphore(_AT_ONCE)

    async def one(post: Post) -> Answer:
        async with slots:
            answer = await api.ask("POST", "/v1/events", api.secrets.producer, body=post.body, headers=post.headers)
        done()
        return answer

    return await asyncio.gather(*(one(post) for post in posts))
