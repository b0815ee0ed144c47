"""Headers and frames of one user in the order of state, whichever lane is slower; others do not wait."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from agents.inboxes.turns import Turns
from agents.inboxes.writes import Showing, Writes
from notify_streams.inbox.tail import Frame, LiveTail
from notify_streams.ports import InboxCounts, InboxStore
from tests.builders import NOW
from tests.fakes import Clock, Recording, an_app


class Shown:
    """A store whose rows take until they are released, and a tail; both note what was asked of them."""

    def __init__(self) -> None:
        self.released, self.seen = asyncio.Event(), list[tuple[str, int]]()

    async def write(self, items: Any, headers: dict[str, InboxCounts], changes: Any = ()) -> None:
        if items:
            await self.released.wait()
        self.seen += [(user, counts.sequence) for user, counts in headers.items()]

    async def publish(self, frames: list[Frame], headers: dict[str, InboxCounts]) -> None:
        self.seen += [(f"frame of {frame.user_id}", frame.sequence) for frame in frames]


def writes(*users: str, sequence: int, rows: bool = False) -> Writes:
    return Writes(
        items=cast(Any, ["row"]) if rows else [],
        headers={user: InboxCounts(sequence, 1, 1) for user in users},
        frames=[Frame(user, sequence, b"{}") for user in users],
    )


async def test_a_header_is_written_after_the_rows_of_an_earlier_batch_and_only_who_is_in_both_waits() -> None:
    shown, turns, clock = Shown(), Turns(), Clock(NOW)
    app = cast(Any, an_app())
    open_ = SimpleNamespace(_closed=False, _exception=None)
    app.unsettled, app.raw_producer = 0, SimpleNamespace(_message_accumulator=open_)  # nothing is sent
    showing = Showing(app, cast(InboxStore, shown), cast(LiveTail, shown), clock)
    first, second = turns.take(["ann", "bob"]), turns.take(["bob", "cleo"])

    async def show(batch: Writes, turn: Any) -> None:
        await showing.show(batch, turn, Recording())
        turn.end()

    slow = asyncio.ensure_future(show(writes("ann", "bob", sequence=1, rows=True), first))
    quick = asyncio.ensure_future(show(writes("bob", "cleo", sequence=2), second))
    for _ in range(5):
        await asyncio.sleep(0)
    assert shown.seen == [("cleo", 2), ("frame of cleo", 2)]
    shown.released.set()
    await asyncio.gather(slow, quick)
    assert shown.seen[2:] == [
        *(("ann", 1), ("bob", 1), ("frame of ann", 1), ("frame of bob", 1)),
        *(("bob", 2), ("frame of bob", 2)),
    ]


async def test_nobody_is_remembered_once_all_are_over() -> None:
    turns = Turns()
    first, second = turns.take(["ann", "bob"]), turns.take(["bob"])
    for turn in (second, first):
        turn.end()
    await asyncio.sleep(0)
    assert turns.take(["ann", "bob"]).waiting() == set()
