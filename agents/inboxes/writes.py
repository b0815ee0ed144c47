"""What one batch adds to inboxes, and in which order it is shown: rows, headers, live frames, then who is told."""

from collections.abc import Container
from functools import partial
from uuid import UUID

import msgspec

from agents.clock import Clock
from agents.inboxes.turns import Turn
from notify_streams.inbox.tail import Frame, LiveTail
from notify_streams.ports import InboxChange, InboxCounts, InboxItem, InboxStore
from notify_streams.streaming import topics
from notify_streams.streaming.app import App
from notify_streams.streaming.outgoing import Outgoing
from notify_streams.streaming.settle import persistently, settled
from schemas.codec import encode
from schemas.commands import CancelV1
from schemas.deliveries import DeliveryV1
from schemas.inbox import InboxHeader, InboxResultV1
from schemas.outcomes import InboxOutcomesV1, InboxWrite, OutcomeV1


class Writes(msgspec.Struct):
    """Rows and frames in order, the last header per user, and by partition what was written, answered and stopped.

    `ended` are deliveries that could not be shown.
    """

    items: list[InboxItem] = []
    changes: list[InboxChange] = []
    headers: dict[str, InboxCounts] = {}
    frames: list[Frame] = []
    written: dict[int, list[InboxWrite]] = {}
    answers: list[tuple[int, InboxResultV1]] = []
    stopped: list[tuple[int, str, CancelV1]] = []
    new: list[DeliveryV1] = []
    ended: list[OutcomeV1] = []

    def holds(self, user_id: str, header: InboxHeader) -> None:
        """The user's header is this one."""
        self.headers[user_id] = InboxCounts(
            header.sequence, header.unread, header.unseen, header.read_through, header.seen_through
        )

    def tell(self, user_id: str, frame: msgspec.Struct, sequence: int, *, again: bool) -> None:
        """Say it to who listens."""
        self.frames.append(Frame(user_id, sequence, encode(frame), again))

    def of(self, users: Container[str]) -> "Writes":
        """What is told of these users, without the rows."""
        return Writes(
            headers={user: header for user, header in self.headers.items() if user in users},
            frames=[frame for frame in self.frames if frame.user_id in users],
            written={p: [w for w in written if w.user_id in users] for p, written in self.written.items()},
            answers=[(p, answer) for p, answer in self.answers if answer.user_id in users],
            stopped=[(p, user, cancel) for p, user, cancel in self.stopped if user in users],
        )


class Showing:
    """How a batch comes to where people see it; all of it may be repeated."""

    def __init__(self, app: App, store: InboxStore, tail: LiveTail, clock: Clock) -> None:
        self._app, self._store, self._tail, self._clock = app, store, tail, clock

    async def show(self, writes: Writes, turn: Turn, outgoing: Outgoing) -> None:
        """Who reads a header finds all its rows, whoever writes them. Nobody waits for another one's turn."""
        if writes.items or writes.changes:
            await persistently(partial(self._store.write, writes.items, {}, writes.changes))
        if late := turn.waiting():
            async with settled(self._app) as at_once:
                await self._tell(writes.of(writes.headers.keys() - late), at_once)
            await turn.come()
            writes = writes.of(late)
        await self._tell(writes, outgoing)

    async def _tell(self, writes: Writes, outgoing: Outgoing) -> None:
        if writes.headers:
            await persistently(partial(self._store.write, [], writes.headers))
        await self._tail.publish(writes.frames, writes.headers)
        tell(writes, outgoing, self._clock)


def tell(writes: Writes, outgoing: Outgoing, clock: Clock) -> None:
    """Who asked, who records, and who need not send any more: all of it is listed by now."""
    for partition, written in writes.written.items():
        if written:
            record = InboxOutcomesV1(at=clock(), written=tuple(written))
            outgoing.add(topics.OUTCOMES, partition, b"", encode(record))
    for partition, answer in writes.answers:
        outgoing.add(topics.COMMAND_RESULTS, partition, answer.user_id.encode(), encode(answer))
    for partition, user_id, cancel in writes.stopped:
        outgoing.add(topics.USER_COMMANDS, partition, user_id.encode(), encode(cancel))


def spelt(notification: bytes) -> str:
    """A notification's id as it is written."""
    return str(UUID(bytes=notification))
