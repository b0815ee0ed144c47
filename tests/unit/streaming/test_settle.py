"""Rows that no changelog has yet are counted until the broker has them, after a cancellation for ever."""

import asyncio
import sys
from typing import Any, cast

import pytest

from notify_streams.streaming.app import App
from notify_streams.streaming.intake import Batch
from notify_streams.streaming.lease import EX_TEMPFAIL
from notify_streams.streaming.outgoing import Offsets
from notify_streams.streaming.settle import Pipeline, settled
from tests.raw_producer import RawProducer
from tests.workers import ROOT


class Sending(RawProducer):
    """An app that sends."""

    def __init__(self) -> None:
        super().__init__()
        self.raw_producer, self.topic_prefix = self, "notify."
        self.unsettled, self.should_stop = 0, False


class Rows:
    """A table that hears how far its changelog is."""

    def __init__(self) -> None:
        self.told: list[Offsets] = []

    def acknowledged(self, offsets: Offsets) -> None:
        self.told.append(offsets)


@pytest.fixture
def sending() -> Sending:
    return Sending()


def once(sending: Any, *tables: Rows) -> "asyncio.Task[None]":
    """One batch of an agent that waits until it is acknowledged."""

    async def agent() -> None:
        async with settled(cast(App, sending), *tables) as outgoing:
            outgoing.add("out", 0, b"k", b"v")

    return asyncio.create_task(agent())


async def test_a_batch_counts_until_the_broker_has_it(sending: Sending) -> None:
    sending.holding, rows = True, Rows()
    batch = once(sending, rows)
    await asyncio.sleep(0)
    assert (sending.unsettled, rows.told) == (1, [])
    sending.answer()
    await batch
    assert (sending.unsettled, len(rows.told)) == (0, 1)


async def test_in_a_pipeline_it_counts_after_its_body_too(sending: Sending) -> None:
    sending.holding, rows = True, Rows()
    pipeline = Pipeline(cast(App, sending), rows)
    for _ in range(2):
        async with pipeline.settled(Batch()) as outgoing:
            outgoing.add("out", 0, b"k", b"v")
    assert (sending.unsettled, rows.told) == (2, [])
    sending.answer()
    await pipeline.drained()
    assert (sending.unsettled, len(rows.told)) == (0, 2)


async def test_what_writes_to_no_table_never_counts(sending: Sending) -> None:
    sending.holding = True
    batch = once(sending)
    await asyncio.sleep(0)
    assert sending.unsettled == 0
    batch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await batch


async def test_a_batch_that_is_cancelled_at_a_stop_counts_for_ever(sending: Sending) -> None:
    sending.holding, rows = True, Rows()
    batch = once(sending, rows)
    await asyncio.sleep(0)
    sending.should_stop = True
    batch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await batch
    sending.answer()
    assert (sending.unsettled, rows.told) == (1, [])


_CANCELLED = """
import asyncio
from tests.unit.streaming.test_settle import Rows, Sending, once

async def main():
    sending = Sending()
    sending.holding = True
    batch = once(sending, Rows())
    await asyncio.sleep(0)
    batch.cancel()
    await asyncio.wait([batch])

asyncio.run(main())
"""


async def test_a_batch_that_is_cancelled_while_the_worker_goes_on_ends_the_process() -> None:
    """Its partitions could go and come back, with rows that no changelog has."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", _CANCELLED, cwd=ROOT)
    assert await asyncio.wait_for(process.wait(), 30) == EX_TEMPFAIL
