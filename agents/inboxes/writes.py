"""What one batch adds to inboxes, and in which order it is shown: rows, headers, live frames, then who is told."""

from functools import partial
from uuid import UUID

import msgspec

from agents.clock import Clock
from agents.inboxes.turns import Turn
from notify_streams.inbox.tail import Frame, LiveTail
from notify_streams.ports import InboxChange, InboxCounts, InboxItem, InboxStore
from notify_streams.streaming import topics
from notify_streams.streaming.outgoing import Outgoing
from notify_streams.streaming.settle import persistently
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


async def show(writes: Writes, turn: Turn, store: InboxStore, tail: LiveTail) -> None:
    """Everything where people see it; may be repeated. Who reads a header finds all its rows, whoever writes them."""
    if writes.items or writes.changes:
        await persistently(partial(store.write, writes.items, {}, writes.changes))
    await turn.come()
    if writes.headers:
        await persistently(partial(store.write, [], writes.headers))
    await tail.publish(writes.frames, writes.headers)


def tell(writes: Writes, outgoing: Outgoing, clock: Clock) -> None:
    """Who asked, who records, and who need not send any more: all of it is listed by now."""
    for partition, written in writes.written.items():
        record = InboxOutcomesV1(at=clock(), written=tuple(written))
        outgoing.add(topics.OUTCOMES, partition, b"", encode(record))
    for partition, answer in writes.answers:
        outgoing.add(topics.COMMAND_RESULTS, partition, answer.user_id.encode(), encode(answer))
    for partition, user_id, cancel in writes.stopped:
        outgoing.add(topics.USER_COMMANDS, partition, user_id.encode(), encode(cancel))


def spelt(notification: bytes) -> str:
    """A notification's id as it is written."""
    return str(UUID(bytes=notification))
