import asyncio
from typing import NamedTuple

import pytest
from faust.types import TP

from notify_streams.streaming.intake import Intake
from notify_streams.streaming.ledger import Ledger

A, B = TP("in", 0), TP("in", 1)


class Fetched(NamedTuple):
    """What aiokafka gives for a record."""

    offset: int
    timestamp: int = 1500
    headers: tuple[()] = ()
    key: bytes = b"k"
    value: bytes = b"v"
    serialized_value_size: int = 1


class Pressure:
    """What the consumer was told."""

    def __init__(self) -> None:
        self.full: list[TP] = []
        self.room: list[TP] = []


@pytest.fixture
def pressure() -> Pressure:
    return Pressure()


@pytest.fixture
def ledgers() -> dict[TP, Ledger]:
    return {}


@pytest.fixture
def intake(ledgers: dict[TP, Ledger], pressure: Pressure) -> Intake:
    return Intake(ledgers, 10, pressure.full.append, pressure.room.append)


def fetch(first: int, count: int) -> list[Fetched]:
    return [Fetched(offset) for offset in range(first, first + count)]


async def test_a_batch_holds_at_most_its_limit_and_the_rest_comes_next(intake: Intake) -> None:
    intake.put(A, fetch(0, 5))
    assert [record.offset for record in await intake.take(3)] == [0, 1, 2]
    assert [record.offset for record in await intake.take(3)] == [3, 4]


async def test_a_batch_takes_from_several_partitions_in_the_order_of_their_arrival(intake: Intake) -> None:
    intake.put(B, fetch(7, 2))
    intake.put(A, fetch(0, 2))
    batch = await intake.take(10)
    assert [(record.partition, record.offset) for record in batch] == [(1, 7), (1, 8), (0, 0), (0, 1)]
    assert batch[0].message.timestamp == 1.5


async def test_it_is_waited_for_what_is_not_there_yet(intake: Intake) -> None:
    waiting = asyncio.ensure_future(intake.take(3))
    await asyncio.sleep(0)
    assert not waiting.done()
    intake.put(A, fetch(0, 1))
    assert len(await waiting) == 1


async def test_the_consumer_is_told_when_the_buffer_is_full_and_when_there_is_room(
    intake: Intake, pressure: Pressure
) -> None:
    intake.put(A, fetch(0, 6))
    assert pressure.full == []
    intake.put(A, fetch(6, 6))
    assert pressure.full == [A]
    await intake.take(5)
    assert pressure.room == []
    await intake.take(5)
    assert pressure.room == [A]


async def test_what_is_taken_is_in_the_ledger_until_it_is_done(intake: Intake, ledgers: dict[TP, Ledger]) -> None:
    intake.put(A, fetch(4, 3))
    batch = await intake.take(10)
    assert ledgers[A].busy
    batch.done()
    assert (ledgers[A].busy, ledgers[A].committable) == (False, 7)


async def test_what_nobody_took_is_forgotten_at_a_rebalance(intake: Intake, ledgers: dict[TP, Ledger]) -> None:
    intake.put(A, fetch(0, 3))
    intake.clear()
    intake.put(A, fetch(1, 1))
    assert [record.offset for record in await intake.take(10)] == [1]
    assert ledgers[A].committable is None


async def test_large_records_fill_the_buffer_sooner(intake: Intake, pressure: Pressure) -> None:
    intake.put(A, [Fetched(0, serialized_value_size=4096 * 6), Fetched(1, serialized_value_size=4096 * 6)])
    assert pressure.full == [A]
    await intake.take(1)
    await intake.take(1)
    assert pressure.room == [A]
