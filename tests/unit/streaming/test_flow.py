"""What becomes of records that arrive around a rebalance: dropped only where they are fetched again."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import faust
import pytest
from faust.types import TP
from mode import Service

from notify_streams.settings import Kafka, Settings, Worker
from notify_streams.streaming import app as apps
from notify_streams.streaming.transport import Consumer
from tests.unit.streaming.test_intake import fetch

IN, OTHER, LOG = TP("t.in", 0), TP("t.in", 1), TP("t.log", 0)


class Thread(Service):
    """The consumer's thread, from the consumer's side: what is committed, and where it was told to go on."""

    def __init__(self, committed: Mapping[TP, int | None]) -> None:
        super().__init__()
        self.committed = committed
        self.sought: dict[TP, int] = {}

    async def seek_to_committed(self) -> Mapping[TP, int | None]:
        self.sought |= {tp: offset for tp, offset in self.committed.items() if offset}
        return self.committed

    async def earliest_offsets(self, *partitions: TP) -> Mapping[TP, int]:
        return dict.fromkeys(partitions, 3)

    async def seek_wait(self, partitions: Mapping[TP, int]) -> None:
        self.sought |= partitions


class OnThread(Consumer):
    """Ours, with a thread that needs no broker."""

    thread = Thread({IN: 8, OTHER: None, LOG: None})

    def _new_consumer_thread(self) -> Any:
        return self.thread


@pytest.fixture
async def app(tmp_path: Path) -> apps.App:
    """Never started."""
    settings = Settings(kafka=Kafka(prefix="t."), worker=Worker(data=str(tmp_path)))
    (tmp_path / "tested-0").mkdir()
    app = apps.build(settings, "tested", loop=asyncio.get_running_loop())
    apps.table(app, "kept", "log")
    return app


def a_consumer(app: faust.App) -> OnThread:
    async def nothing(*_: object) -> None:
        pass

    transport = cast(Any, app.transport)
    return OnThread(
        transport, callback=nothing, on_partitions_revoked=nothing, on_partitions_assigned=nothing, loop=app.loop
    )


async def test_what_was_delivered_after_the_seek_outlives_the_resuming_of_the_flow(app: apps.App) -> None:
    """Stock code empties every buffer then: it was lost with the next commit."""
    intake = a_consumer(app).intake(SimpleNamespace(queue=object()))
    intake.put(IN, cast(Any, fetch(8, 2)))
    app.flow_control.resume()
    batch = await asyncio.wait_for(intake.take(10), 1)
    assert [record.offset for record in batch] == [8, 9]


async def test_what_nobody_has_taken_when_the_flow_stops_is_fetched_again(app: apps.App) -> None:
    consumer = a_consumer(app)
    intake = consumer.intake(SimpleNamespace(queue=object()))
    intake.put(IN, cast(Any, fetch(6, 2)))
    consumer.stop_flow()
    intake.put(IN, cast(Any, fetch(8, 1)))
    batch = await asyncio.wait_for(intake.take(10), 1)
    assert [record.offset for record in batch] == [8]


async def test_a_partition_of_which_nothing_was_committed_goes_on_from_its_beginning(app: apps.App) -> None:
    """Stock code leaves it where it is, behind what was fetched and dropped. Changelogs are the recovery's business."""
    consumer = a_consumer(app)
    await consumer.perform_seek()
    assert consumer.thread.sought == {IN: 8, OTHER: 3}
