"""Tiny Faust apps that tests start as processes, over our transport or over the stock one.

`python -m tests.streaming_apps SPEC` with a JSON object `Spec`. What an app has handled is in its journal, line by
line, written at once, so that it survives SIGKILL; its counts are in `JOURNAL.stats` when it was stopped by SIGTERM.
"""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, cast

import msgspec
import uvloop
from faust.types import EventT, StreamT

from notify_streams import logs, settings
from notify_streams.streaming import app as apps
from notify_streams.streaming import health, worker
from notify_streams.streaming.app import App
from notify_streams.streaming.batches import batches, interrupted, put_back
from notify_streams.streaming.deadletters import DeadLetters
from notify_streams.streaming.settle import Pipeline, settled
from tables.by_event import ByEvent
from tests.streaming_faults import end_rebalances_late, lose_answers, mute, wait_until

_STOCK = {"Topic": "faust:Topic", "store": "rocksdb://", "TableManager": "faust.tables.manager:TableManager"}


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    """What to run and how. `hold` are values that wait until the file `release` is there.

    From the value `mute_at` on nothing reaches the broker. Without `distrust` tables are kept after any end. After
    a rebalance has sought to what was committed, `end_late_s` pass before it ends.
    """

    app: str
    kafka: settings.Kafka
    data: str
    journal: str
    role: str = "tested"
    instance: int = 0
    stock: bool = False
    stock_restore: bool = False
    fence: bool = True
    style: str = "batches"
    limit: int = 100
    concurrency: int = 1
    pause_s: float = 0.0
    sign: bool = False
    exit_at: str = ""
    raise_at: str = ""
    hold: tuple[str, ...] = ()
    release: str = ""
    lose_answers: int = 0
    mute_at: str = ""
    pipelined: bool = False
    distrust: bool = True
    stop_s: float = 25.0
    end_late_s: float = 0.0
    options: dict[str, Any] = {}


class Journal:
    """What was handled, in order, and what was counted."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.stats: dict[str, Any] = {"tasks": 0, "started": 0, "first": 0.0, "last": 0.0}

    def handled(self, event: EventT[bytes]) -> None:
        """One line: partition, offset, key, value, and the time in seconds."""
        message, now = event.message, time.time()
        self.stats["first"], self.stats["last"] = self.stats["first"] or now, now
        key, value = (message.key or b"-").decode(), "null" if message.value is None else message.value[:64].decode()
        os.write(self._file, f"{message.partition} {message.offset} {key} {value} {now:.3f}\n".encode())

    def close(self) -> None:
        """Write the counts."""
        self._path.with_suffix(".stats").write_text(json.dumps(self.stats))


def build(spec: Spec) -> App:
    """An app with our transport and settings, or the same with Faust's own."""
    config = settings.Settings(kafka=spec.kafka, worker=settings.Worker(data=spec.data))
    overrides: dict[str, Any] = dict(spec.options)
    if spec.stock:
        overrides = {"broker": f"kafka://{spec.kafka.bootstrap}", **_STOCK, **overrides}
    if spec.stock_restore:
        overrides["TableManager"] = _STOCK["TableManager"]
    apps.data_directory(config, spec.role, spec.instance).mkdir(parents=True, exist_ok=True)
    app = apps.build(config, spec.role, instance=spec.instance, **overrides)
    if not spec.fence:
        app.lease.check = lambda: None  # type: ignore[method-assign]
    return app


async def lists(stream: StreamT[bytes], spec: Spec) -> AsyncIterator[list[EventT[bytes]]]:
    """The stream by our batches, or in one of the ways of stock Faust."""
    if spec.style == "batches":
        async for events in batches(stream, spec.limit):
            yield events
    elif spec.style == "take":
        async for taken in cast(Any, stream).take_events(spec.limit, within=0.1):
            yield list(taken)
    else:
        async for event in stream.events():
            yield [event]


async def handle(spec: Spec, journal: Journal, event: EventT[bytes]) -> None:
    """Note it, with the faults that the spec asks for."""
    value = "null" if event.message.value is None else event.message.value.decode()
    if value == spec.exit_at:
        os._exit(9)
    if value == spec.raise_at:
        raise ValueError(value)
    await wait_until(lambda: value not in spec.hold or os.path.exists(spec.release))
    journal.handled(event)


def echo(app: App, spec: Spec, journal: Journal) -> None:
    """Note what comes on `in`."""

    @app.agent(apps.topic(app, "in"), name="echo", concurrency=spec.concurrency)
    async def take(stream: StreamT[bytes]) -> None:
        async for events in lists(stream, spec):
            for event in events:
                await handle(spec, journal, event)
            if spec.pause_s:
                await asyncio.sleep(spec.pause_s)


def impatient(app: App, spec: Spec, journal: Journal) -> None:
    """Note what comes on `in`, but put back what a rebalance interrupts, as senders do. Like theirs, the app has a
    table: with one Faust lets records flow before it has sought.
    """
    apps.table(app, "kept", "log")

    @app.agent(apps.topic(app, "in"), name="impatient")
    async def take(stream: StreamT[bytes]) -> None:
        async for events in batches(stream, spec.limit):
            if interrupted(app):
                put_back(events)
                continue
            for event in events:
                journal.handled(event)


def lanes(app: App, spec: Spec, journal: Journal) -> None:
    """The same on `high`, and on `low` where each batch costs `pause_s` of CPU."""

    @app.agent(apps.topic(app, "high"), name="high")
    async def high(stream: StreamT[bytes]) -> None:
        async for events in lists(stream, spec):
            for event in events:
                journal.handled(event)

    @app.agent(apps.topic(app, "low"), name="low")
    async def low(stream: StreamT[bytes]) -> None:
        async for events in lists(stream, spec):
            until = time.monotonic() + spec.pause_s
            while time.monotonic() < until:
                pass
            journal.stats["low"] = journal.stats.get("low", 0) + len(events)
            await asyncio.sleep(0)


def forward(app: App, spec: Spec, journal: Journal) -> None:
    """Send everything from `in` to `out`; what cannot be processed goes to the dead letters."""
    dead = DeadLetters("tested", 20)

    @app.agent(apps.topic(app, "in"), name="forward")
    async def take(stream: StreamT[bytes]) -> None:
        async for events in lists(stream, spec):
            async with settled(app) as outgoing:
                for event in events:
                    try:
                        await handle(spec, journal, event)
                        outgoing.add("out", event.message.partition, event.message.key, event.message.value)
                        dead.handled(event)
                    except ValueError as error:
                        dead.bury(event, error, outgoing, now=0)


def stock_forward(app: App, spec: Spec, journal: Journal) -> None:
    """The same by Faust's own way to send, one by one, each awaited."""
    out = apps.topic(app, "out")

    @app.agent(apps.topic(app, "in"), name="forward")
    async def take(stream: StreamT[bytes]) -> None:
        async for events in lists(stream, spec):
            for event in events:
                message = event.message
                await (await out.send(key=message.key, value=message.value, partition=message.partition))
                journal.handled(event)


def raw_flush(app: App, spec: Spec, journal: Journal) -> None:
    """Send raw without waiting, then flush as a commit does, and note whether the broker has it."""

    @app.agent(apps.topic(app, "in"), name="raw")
    async def take(stream: StreamT[bytes]) -> None:
        async for events in lists(stream, spec):
            for event in events:
                future = await app.raw_producer.send(app.topic_prefix + "out", event.message.value, partition=0)
                before = future.done()
                await app.producer.flush()
                journal.stats["flushed"] = [before, future.done()]
                journal.handled(event)


def state(app: App, spec: Spec, journal: Journal) -> None:
    """Keep under each key of `in` the last value; once recovered, note what the table holds."""
    table = apps.table(app, "kept", "log")
    kept = ByEvent(table, app.topic_prefix)

    @app.agent(apps.topic(app, "in"), name="state")
    async def take(stream: StreamT[bytes]) -> None:
        async for events in lists(stream, spec):
            async with settled(app, kept) as outgoing:
                for event in events:
                    message = event.message
                    if message.value is None:
                        kept.delete(message.partition, message.key or b"", outgoing)
                    else:
                        value = message.value + b" by %d" % spec.instance if spec.sign else message.value
                        kept.write(message.partition, message.key or b"", value, outgoing)
                    journal.handled(event)
                await asyncio.sleep(spec.pause_s)

    dump_once_ready(app, kept, spec)


def once(app: App, spec: Spec, journal: Journal) -> None:
    """Keep under each key of `in` the first value, and do nothing for a key that is known.

    A row at `mute_at` reaches the disk as one does when the buffer is full, while its changelog record does not
    reach the broker.
    """
    table = apps.table(app, "kept", "log")
    kept = ByEvent(table, app.topic_prefix)
    pipeline = Pipeline(app, kept)

    @app.agent(apps.topic(app, "in"), name="once")
    async def take(stream: StreamT[bytes]) -> None:
        async for events in lists(stream, spec):
            async with pipeline.settled(events) if spec.pipelined else settled(app, kept) as outgoing:
                for event in events:
                    await handle(spec, journal, event)
                    partition, key, value = (
                        event.message.partition,
                        event.message.key or b"",
                        event.message.value or b"",
                    )
                    if kept.get(partition, key) is None:
                        kept.write(partition, key, value, outgoing)
                    if value.decode() == spec.mute_at:
                        mute(app)
                        table.data._db_for_partition(partition).flush()
                        Path(spec.journal).with_suffix(".muted").touch()

    dump_once_ready(app, kept, spec)


def dump_once_ready(app: App, kept: ByEvent, spec: Spec) -> None:
    """Once recovered, note what the table holds."""

    async def dump() -> None:
        await wait_until(lambda: app.tables.actives_ready and not app.rebalancing)
        rows = {
            key.decode(): value.decode()
            for tp in app.consumer.assignment()
            if tp.topic == app.topic_prefix + "in"
            for key, value in kept.items(tp.partition, b"a", b"z", 10**6)
        }
        journal_path = Path(spec.journal)
        journal_path.with_suffix(".table.new").write_text(json.dumps(rows))
        journal_path.with_suffix(".table.new").replace(journal_path.with_suffix(".table"))

    app.task(dump)


APPS: dict[str, Callable[[App, Spec, Journal], None]] = {
    "echo": echo,
    "impatient": impatient,
    "lanes": lanes,
    "forward": forward,
    "stock_forward": stock_forward,
    "raw_flush": raw_flush,
    "state": state,
    "once": once,
}


def count_tasks(journal: Journal) -> None:
    """How many tasks the main loop makes, the dearest thing that asyncio does."""

    def made(loop: asyncio.AbstractEventLoop, coroutine: Any, **kwargs: Any) -> "asyncio.Task[Any]":
        journal.stats["tasks"] += 1
        return asyncio.Task(coroutine, loop=loop, **kwargs)

    asyncio.get_running_loop().set_task_factory(made)


def count_starts(app: App, journal: Journal) -> None:
    """How often somebody asks the app to start its producer."""
    start = app.maybe_start_producer

    async def counted() -> Any:
        journal.stats["started"] += 1
        return await start()

    app.maybe_start_producer = counted


async def serve(spec: Spec) -> int:
    """Run the app as a worker does, with probes; their port is in `JOURNAL.port`; the exit code."""
    journal, stopping = Journal(Path(spec.journal)), asyncio.Event()

    def stop() -> None:
        journal.close()
        stopping.set()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
    count_tasks(journal)
    app = build(spec)
    APPS[spec.app](app, spec, journal)
    count_starts(app, journal)
    if spec.end_late_s:
        end_rebalances_late(app, spec.end_late_s)
    if spec.distrust:
        worker.trust_tables(app)
    watched = health.Health(spec.role, 2.0)
    watched.watch(app)
    probes = await health.serve(watched, "127.0.0.1", 0)
    Path(spec.journal).with_suffix(".port").write_text(str(probes.addresses[0][1]))
    losing = asyncio.ensure_future(lose_answers(app, spec.lose_answers))
    code = await worker.lived(app, stopping, spec.stop_s)
    if not spec.stock:
        worker.mark_tables(app)
    await probes.cleanup()
    losing.cancel()
    return code


if __name__ == "__main__":
    logs.configure()
    sys.exit(uvloop.run(serve(msgspec.json.decode(sys.argv[1].encode(), type=Spec))))
