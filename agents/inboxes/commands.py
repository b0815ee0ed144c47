"""What people do to their inbox, and what the clock does."""

from collections.abc import Iterable
from typing import NamedTuple, cast

from faust.types import EventT
from msgspec.structs import replace

from agents.inboxes import timing, views
from agents.inboxes.items import Inbox
from agents.inboxes.writes import Writes, spelt
from notify_streams.domain import item_ids
from notify_streams.domain.inbox import is_unread
from notify_streams.domain.inbox_commands import carried_out, fault_of, keys_of, stopped_by, swept
from notify_streams.metrics import DUPLICATES, MISROUTED
from notify_streams.streaming import topics
from notify_streams.streaming.deadletters import DeadLetters
from notify_streams.streaming.keyed import keyed
from notify_streams.streaming.outgoing import Headers, Outgoing
from notify_streams.streaming.partitions import Partitions
from schemas.commands import CancelV1
from schemas.inbox import (
    InboxCommandV1,
    InboxDone,
    InboxEntry,
    InboxHeader,
    InboxResultV1,
    InboxSweepV1,
    decode_inbox_record,
)
from schemas.words import CHANNELS

Record = InboxCommandV1 | InboxSweepV1


class Did(NamedTuple):
    """The header now, what was done, and the entries that it was about: all of them where it was about all."""

    header: InboxHeader
    done: InboxDone
    about: dict[bytes, InboxEntry]
    again: bool


class Commands:
    """Changes what is in inboxes, and nothing twice."""

    def __init__(self, inbox: Inbox, dead: DeadLetters, *, generation: int) -> None:
        self.inbox, self.states, self.dead, self.generation = inbox, inbox.states, dead, generation
        self.partitions = Partitions(inbox.app.conf.topic_partitions)

    def take(self, event: EventT[bytes], writes: Writes, outgoing: Outgoing) -> None:
        """Carry out one record; no await. Raises NoUser or msgspec.DecodeError for what its sender got wrong."""
        partition, user, value = keyed(event)
        record, home = decode_inbox_record(value), self.partitions.of(user)
        if home != partition:
            MISROUTED.labels(topic=topics.INBOX_COMMANDS).inc()
            headers = cast("Headers", event.message.headers or ())
            outgoing.add(topics.INBOX_COMMANDS, home, user, value, headers)
            return
        did = self._before(partition, user, record, event.message.offset)
        if did is None:
            did = self._carry(partition, user, record, event.message.offset, outgoing)
        self._say(user.decode(), did, writes)
        for nth, (notification, channels) in enumerate(stopped_by(did.done, did.about, self.inbox.clock())):
            cancel = _cancel(f"{did.done.command_id}/{nth}", notification, channels)
            writes.stopped.append((partition, user.decode(), cancel))
        if isinstance(record, InboxCommandV1):
            writes.answers.append((partition, _answer(user.decode(), record, did)))
        elif did.header.swept_at:
            timing.wake(partition, user, did.header, outgoing)

    def _before(self, partition: int, user: bytes, record: Record, offset: int) -> Did | None:
        """What it did already; nothing more is to be said of what is older than the last batch."""
        header, done = self.states.header(partition, user), self.states.done(partition, user, _id_of(record))
        if done is None:
            if (self.generation, offset) > (header.generation, header.applied_through):
                return None
            done = InboxDone(_id_of(record), 0, header.unread, header.unseen)
        DUPLICATES.labels(stage="inbox").inc()
        about = self._entries(partition, user, None if done.up_to is not None else item_ids.several(done.items))
        return Did(header, done, about, again=True)

    def _carry(self, partition: int, user: bytes, record: Record, offset: int, outgoing: Outgoing) -> Did:
        before, now = self.states.header(partition, user), self.inbox.clock()
        if isinstance(record, InboxSweepV1):
            entries = self._entries(partition, user, None)
            carried = swept(before, entries, _id_of(record), now)
        else:
            entries = self._entries(partition, user, None if record.up_to is not None else keys_of(record))
            carried = carried_out(before, entries, record, now)
        self.states.remember(partition, user, carried.header, carried.done, outgoing)
        header = replace(
            carried.header,
            commands=carried.header.commands + 1,
            generation=self.generation,
            applied_through=offset,
        )
        self.states.change(partition, user, carried.entries, outgoing)
        self.states.keep(partition, user, header, outgoing)
        if isinstance(record, InboxSweepV1):
            self.states.forget(partition, user, carried.forgotten, now, outgoing)
        was_unread = {key: entry for key, entry in entries.items() if is_unread(before, entry)}
        return Did(header, carried.done, was_unread if carried.done.up_to is not None else carried.entries, again=False)

    def _entries(self, partition: int, user: bytes, keys: Iterable[bytes] | None) -> dict[bytes, InboxEntry]:
        """Those that are there; None means all."""
        if keys is None:
            return self.states.entries(partition, user)
        found = ((key, self.states.entry(partition, user, key)) for key in keys)
        return {key: entry for key, entry in found if entry is not None}

    def _say(self, user_id: str, did: Did, writes: Writes) -> None:
        writes.holds(user_id, did.header)
        if did.done.sequence:
            writes.changes.extend(views.changes_of(user_id, did.done, did.about))
            writes.tell(user_id, views.changed(did.done), did.done.sequence, again=did.again)


def _id_of(record: Record) -> str:
    return record.command_id if isinstance(record, InboxCommandV1) else f"sweep/{record.due_at}"


def _answer(user_id: str, command: InboxCommandV1, did: Did) -> InboxResultV1:
    fault = fault_of(command)
    return InboxResultV1(
        command_id=command.command_id,
        user_id=user_id,
        status="applied" if fault is None else "invalid",
        sequence=did.done.sequence or did.header.sequence,
        unread=did.done.unread,
        unseen=did.done.unseen,
        errors=() if fault is None else (fault,),
    )


def _cancel(command_id: str, notification: bytes, channels: int) -> CancelV1:
    return CancelV1(
        command_id=f"inbox/{command_id}"[:128],
        by="inbox",
        notification_id=spelt(notification),
        reason="read",
        channels=tuple(channel for n, channel in enumerate(CHANNELS) if channels >> n & 1),
    )
