"""Rows to Cassandra in portions, as the driver's session sees them: its answers come when the test gives them."""

import asyncio
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from cassandra.cluster import NoHostAvailable
from cassandra.cqltypes import Int32Type
from cassandra.protocol import ColumnMetadata
from cassandra.query import PreparedStatement

from notify_streams.ports import Unavailable
from notify_streams.stores.cassandra import Session
from notify_streams.stores.groups import ROWS

PORTION = 400
PUT = PreparedStatement([ColumnMetadata("k", "t", "n", Int32Type)], b"id", [0], "", "k", 5, [], None)


class Driver:
    """The driver's session on one node. Each batch waits for its answer."""

    def __init__(self) -> None:
        self.cluster = SimpleNamespace(metadata=SimpleNamespace(all_hosts=lambda: ["one"]))
        self.sent: list[int] = []
        self._waiting: list[tuple[Callable[[Any], None], Callable[[BaseException], None]]] = []

    def execute_async(self, batch: Any) -> Any:
        self.sent.append(len(batch._statements_and_parameters))

        def add_callbacks(done: Callable[[Any], None], failed: Callable[[BaseException], None]) -> None:
            self._waiting.append((done, failed))

        return SimpleNamespace(add_callbacks=add_callbacks)

    async def answer(self, error: BaseException | None = None) -> None:
        """All that wait, in one go; then whoever waited goes on."""
        waiting, self._waiting = self._waiting, []
        for done, failed in waiting:
            done(None) if error is None else failed(error)
        await settled()


async def settled() -> None:
    """Everything that can go on has gone on."""
    for _ in range(20):
        await asyncio.sleep(0)


def rows(count: int, taken: list[int]) -> Iterator[tuple[Any, tuple[int]]]:
    """So many; `taken` lists those that were made up."""
    for number in range(count):
        taken.append(number)
        yield PUT, (number,)


async def test_a_long_write_goes_in_portions_each_made_up_while_the_last_is_under_way() -> None:
    driver, taken = Driver(), list[int]()
    writing = asyncio.ensure_future(Session(driver).write(rows(2 * PORTION + 30, taken)))
    await settled()
    assert (driver.sent, len(taken)) == ([ROWS] * 4, 2 * PORTION)
    await driver.answer()
    assert (driver.sent, len(taken)) == ([ROWS] * 8, 2 * PORTION + 30)
    await driver.answer()
    assert driver.sent == [*[ROWS] * 8, 30]
    assert not writing.done()
    await driver.answer()
    await writing


async def test_nothing_is_sent_after_a_portion_that_was_not_taken() -> None:
    driver = Driver()
    writing = asyncio.ensure_future(Session(driver).write(rows(5 * PORTION, [])))
    await settled()
    await driver.answer(NoHostAvailable("nobody", {}))
    with pytest.raises(Unavailable, match="NoHostAvailable"):
        await writing
    assert driver.sent == [ROWS] * 4


async def test_the_last_portion_is_waited_for_and_its_failure_is_told() -> None:
    driver = Driver()
    writing = asyncio.ensure_future(Session(driver).write(rows(PORTION + 1, [])))
    await settled()
    await driver.answer()
    await driver.answer(NoHostAvailable("nobody", {}))
    with pytest.raises(Unavailable):
        await writing


async def test_rows_that_cannot_be_made_up_end_the_write_when_what_is_under_way_is_done() -> None:
    def faulty() -> Iterator[tuple[Any, tuple[int]]]:
        yield from rows(PORTION + 10, [])
        raise ValueError("a row")

    driver = Driver()
    writing = asyncio.ensure_future(Session(driver).write(faulty()))
    await settled()
    assert not writing.done()
    await driver.answer()
    with pytest.raises(ValueError, match="a row"):
        await writing
    assert driver.sent == [ROWS] * 4


async def test_no_rows_are_no_call() -> None:
    driver = Driver()
    await Session(driver).write([])
    assert driver.sent == []
