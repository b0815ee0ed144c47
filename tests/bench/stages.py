"""The stages that `bench transport` compares, each a process of its own: `python -m tests.bench.stages NAME FILE`."""

import asyncio
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import uvloop
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from faust.types import StreamT

from notify_streams import logs
from notify_streams.settings import Settings, load
from notify_streams.streaming import app as apps
from notify_streams.streaming import topics
from notify_streams.streaming.app import App
from notify_streams.streaming.batches import batches
from notify_streams.streaming.health import Health
from notify_streams.streaming.keyed import keyed
from notify_streams.streaming.settle import Pipeline
from notify_streams.streaming.worker import run
from tables.user_state import UserStates
from tests.bench.counter import Counter

INPUT, OUTPUT = topics.notifications("low"), topics.DECISIONS
BATCH = 500


def noop(app: App, counter: Counter) -> None:
    """Take and forget."""

    @app.agent(apps.topic(app, INPUT), name="bench.noop")
    async def take(stream: StreamT[bytes]) -> None:
        async for events in batches(stream, BATCH):
            counter.add(len(events))


def send(app: App, counter: Counter) -> None:
    """Send each record on, as it came, by record batches, awaited."""

    pipeline = Pipeline(app)

    @app.agent(apps.topic(app, INPUT), name="bench.send")
    async def take(stream: StreamT[bytes]) -> None:
        async for events in batches(stream, BATCH):
            async with pipeline.settled(events) as outgoing:
                for event in events:
                    message = event.message
                    outgoing.add(OUTPUT, message.partition, message.key, message.value)
            counter.add(len(events))


def state(app: App, counter: Counter) -> None:
    """Read and write a table entry per record, changelog awaited."""
    states = UserStates(apps.table(app, "user_state", topics.USER_STATE_LOG), app.topic_prefix)

    pipeline = Pipeline(app, states)

    @app.agent(apps.topic(app, INPUT), name="bench.state")
    async def take(stream: StreamT[bytes]) -> None:
        async for events in batches(stream, BATCH):
            async with pipeline.settled(events) as outgoing:
                for event in events:
                    partition, user, value = keyed(event)
                    states.get(partition, user)
                    states.write(partition, user, value, outgoing)
            counter.add(len(events))


async def bare(settings: Settings, counter: Counter) -> None:
    """The limit to look at: aiokafka alone, consume and produce by record batches, committed each second."""
    kafka, stopping = settings.kafka, asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    consumer = AIOKafkaConsumer(
        kafka.prefix + INPUT,
        bootstrap_servers=kafka.bootstrap,
        group_id="bare",
        auto_offset_reset="earliest",
        enable_auto_commit=True,
        auto_commit_interval_ms=1000,
        max_poll_records=4 * BATCH,
    )
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, acks="all", max_batch_size=1 << 20, linger_ms=5)
    await consumer.start()
    await producer.start()
    while not stopping.is_set():
        sent, count = [], 0
        for tp, records in (await consumer.getmany(timeout_ms=200)).items():
            batch = producer.create_batch()
            for record in records:
                batch.append(key=record.key, value=record.value, timestamp=None)
            sent.append(await producer.send_batch(batch, kafka.prefix + OUTPUT, partition=tp.partition))
            count += len(records)
        await asyncio.gather(*sent)
        counter.add(count)
    await producer.stop()
    await consumer.stop()


STAGES: dict[str, Callable[[App, Counter], None]] = {"noop": noop, "send": send, "state": state}


def main(name: str, path: Path) -> int:
    """Run one stage until SIGTERM."""
    logs.configure()
    settings, counter = load(), Counter(path)
    if name == "bare":
        uvloop.run(bare(settings, counter))
        return 0

    async def prepare(settings: Settings, instance: int, _: Health) -> App:
        app = apps.build(settings, f"bench-{name}", instance=instance)
        STAGES[name](app, counter)
        return app

    return run(settings, f"bench-{name}", 0, prepare)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
