"""The load: events at a fixed rate whatever comes of them, from a process of its own.

Events are for one user each, drawn from a Zipf distribution; in-app for all, with a mail for a share of them.
"""

import asyncio
import json
import random
import sys
import time
from bisect import bisect
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec
import uvloop
from aiokafka import AIOKafkaProducer

from notify_streams.streaming import topics
from notify_streams.streaming.partitions import Partitions
from schemas.words import Lane
from tests.system.traffic import SOURCE

_TICK_S, _MOST_AT_ONCE = 0.02, 2000
# share, type, lane, payload; every type may go by mail
_KINDS: tuple[tuple[int, str, Lane, str], ...] = (
    (10, "message.direct", "high", '{"text":"Are you coming tonight?","url":"https://app.example/messages/7"}'),
    (60, "order.confirmed", "normal", '{"order":"123","total":"19.90 EUR","items":[],"url":"https://shop.example/1"}'),
    (
        30,
        "marketing.campaign",
        "low",
        '{"title":"A sale","text":"All of it.","ends":"2030-01-06","url":"https://x.y/"}',
    ),
)
_EVENT = (
    '{{"specversion":"1.0","id":"{id}","source":"{source}","type":"{type}","data":{{"recipients":["{user}"],'
    '"payload":{payload},"channels":{channels}}}}}'
)


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """What to publish. `skew` is the exponent of the Zipf distribution, 0 makes all users alike."""

    bootstrap: str
    prefix: str
    partitions: int
    count: int
    rate: float
    users: int
    skew: float = 0.6
    mail_share: float = 0.1
    seed: int = 11


class Published(msgspec.Struct, frozen=True):
    """What came of it. Instants in ms; `behind_s` is how late the latest tick was."""

    count: int
    began: int
    ended: int
    behind_s: float


def events(load: Load) -> Iterator[tuple[str, int, bytes, bytes]]:
    """Topic, partition, key and value of each."""
    chance, of = random.Random(load.seed), Partitions(load.partitions).of
    weights = list(accumulate(1 / (rank + 1) ** load.skew for rank in range(load.users)))
    shares = list(accumulate(share for share, *_ in _KINDS))
    for number in range(load.count):
        _, type_, lane, payload = _KINDS[bisect(shares, chance.random() * shares[-1])]
        user = f"user-{bisect(weights, chance.random() * weights[-1]):06d}"
        channels = '["inapp","email"]' if chance.random() < load.mail_share else '["inapp"]'
        value = _EVENT.format(
            id=f"{load.seed}-{number}", source=SOURCE, type=type_, user=user, payload=payload, channels=channels
        )
        yield load.prefix + topics.events(lane), of(user.encode()), user.encode(), value.encode()


async def publish(load: Load) -> Published:
    """Every event in the tick in which it is due, acknowledged at the end."""
    producer = AIOKafkaProducer(
        bootstrap_servers=load.bootstrap, acks="all", enable_idempotence=True, max_batch_size=1 << 20
    )
    await producer.start()
    sent: set[Any] = set()
    source, count, behind = events(load), 0, 0.0
    began, started = round(time.time() * 1000), time.monotonic()
    try:
        while count < load.count:
            due = min(load.count, int((time.monotonic() - started) * load.rate))
            behind = max(behind, (due - count) / load.rate - _TICK_S)
            now = min(due - count, _MOST_AT_ONCE)
            await _tick(producer, source, now, sent)
            count += now
            await asyncio.sleep(_TICK_S)
        ended = round(time.time() * 1000)
        await asyncio.gather(*sent)
    finally:
        await producer.stop()
    return Published(count, began, ended, behind)


async def _tick(producer: Any, source: Iterator[tuple[str, int, bytes, bytes]], count: int, sent: set[Any]) -> None:
    open_: dict[tuple[str, int], Any] = {}
    for topic, partition, key, value in (next(source) for _ in range(count)):
        batch = open_.get((topic, partition))
        if batch is None:
            batch = open_[topic, partition] = producer.create_batch()
        batch.append(key=key, value=value, timestamp=None, headers=[("content-type", b"application/cloudevents+json")])
    for (topic, partition), batch in open_.items():
        future = await producer.send_batch(batch, topic, partition=partition)
        sent.add(future)
        future.add_done_callback(lambda done: sent.discard(done) if done.exception() is None else None)


def main(given: str, result: Path) -> None:
    """The load as JSON; what came of it is written to the file `result`."""
    load = msgspec.json.decode(given, type=Load)
    published = uvloop.run(publish(load))
    result.write_text(json.dumps(msgspec.to_builtins(published)))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
