"""The `inbox_state` table: a header per user, an entry per item, and what is needed to say everything again."""

from collections.abc import Callable
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from notify_streams.domain import inbox
from notify_streams.domain.inbox_commands import SLOTS
from notify_streams.streaming.outgoing import Outgoing
from schemas.codec import pack
from schemas.inbox import (
    InboxDone,
    InboxEntry,
    InboxGroup,
    InboxHeader,
    InboxMember,
    decode_header,
    decode_inbox_done,
    decode_inbox_entry,
    decode_inbox_group,
    decode_inbox_member,
)
from tables.by_event import ByEvent
from tables.keys import of_user

T = TypeVar("T")
_NEW = InboxHeader()
_HEADER, _ITEM, _MEMBER, _GROUP, _COMMAND = b"h", b"i", b"m", b"a", b"c"
_PORTION, _ALL = 64, 1_000_000


class Room(msgspec.Struct, frozen=True):
    """What was archived so that another item has room, and the header right after it."""

    key: bytes
    row: bytes
    header: InboxHeader | None = None


class Given(msgspec.Struct, frozen=True):
    """The place of an item: its sequence, the header and entry as they are now, the row that shows it.

    `new` if this call gave the place; `before` is the row that this one replaced. `replaced`: a later one shows the
    item by now, or none does. `wakes` if the user's timer may have to be put.
    """

    sequence: int
    header: InboxHeader
    entry: InboxEntry
    key: bytes
    row: bytes
    new: bool = True
    before: bytes = b""
    replaced: bool = False
    room: Room | None = None
    wakes: bool = True


class InboxStates(ByEvent):
    """All calls are synchronous: within one record nothing else sees a user's inbox half way."""

    def header(self, partition: int, user: bytes) -> InboxHeader:
        """The user's header, zeros for somebody new."""
        value = self.get(partition, of_user(user, _HEADER))
        return _NEW if value is None else decode_header(value)

    def entry(self, partition: int, user: bytes, key: bytes) -> InboxEntry | None:
        """The item's, None for one that is not known."""
        value = self.get(partition, of_user(user, _ITEM, key))
        return None if value is None else decode_inbox_entry(value)

    def member(self, partition: int, user: bytes, print_: bytes) -> InboxMember | None:
        """What an aggregated notification was given."""
        value = self.get(partition, of_user(user, _MEMBER, print_))
        return None if value is None else decode_inbox_member(value)

    def group(self, partition: int, user: bytes, key: bytes) -> InboxGroup | None:
        """What an aggregated item tells of."""
        value = self.get(partition, of_user(user, _GROUP, key))
        return None if value is None else decode_inbox_group(value)

    def entries(self, partition: int, user: bytes) -> dict[bytes, InboxEntry]:
        """All of a user, by key, the oldest first."""
        return self._all(partition, user, _ITEM, decode_inbox_entry)

    def add(self, partition: int, user: bytes, key: bytes, entry: InboxEntry, most: int, outgoing: Outgoing) -> Given:
        """Put an item on top as the next sequence; at most so many are unread after it."""
        before = self.header(partition, user)
        header, room = self._with_room(partition, user, before, most, outgoing)
        header = inbox.appeared(header, key, None, entry.expires_at)
        placed = _placed(entry, header.sequence, room)
        self._put(partition, user, key, placed, outgoing)
        self.keep(partition, user, header, outgoing)
        return Given(header.sequence, header, placed, key, key, room=room, wakes=header.swept_at != before.swept_at)

    def again(self, partition: int, user: bytes, key: bytes, entry: InboxEntry) -> Given:
        """The place that an item has."""
        header = self.header(partition, user)
        return Given(
            entry.sequence, header, entry, key, key, new=False, room=self._room(partition, user, entry.evicted)
        )

    def grow(
        self,
        partition: int,
        user: bytes,
        print_: bytes,
        row: bytes,
        entry: InboxEntry,
        group: InboxGroup,
        most: int,
        outgoing: Outgoing,
    ) -> Given:
        """Put an aggregated item on top as the next sequence: a new one, or one that is known with a new row."""
        key, known = group.item, self.entry(partition, user, group.item)
        header, room = self.header(partition, user), None
        if known is None or not inbox.is_unread(header, known):
            header, room = self._with_room(partition, user, header, most, outgoing)
        header = inbox.appeared(header, key, known, entry.expires_at)
        placed = _placed(replace(entry, row=row if row != key else b""), header.sequence, room)
        before = b"" if known is None else known.row or key
        evicted = b"" if room is None else room.key
        member = InboxMember(header.sequence, key, row, before, group.kept_until, evicted)
        self._put(partition, user, key, placed, outgoing)
        self.write(partition, of_user(user, _MEMBER, print_), pack(member), outgoing)
        self.write(partition, of_user(user, _GROUP, entry.group), pack(group), outgoing)
        self.keep(partition, user, header, outgoing)
        return Given(header.sequence, header, placed, key, row, before=before, room=room)

    def grown(self, partition: int, user: bytes, member: InboxMember) -> Given:
        """The place that an aggregated notification has."""
        header, entry = self.header(partition, user), self.entry(partition, user, member.item)
        return Given(
            member.sequence,
            header,
            entry or InboxEntry(member.sequence, gone=inbox.EXPIRED),
            member.item,
            member.row,
            new=False,
            before=member.before,
            replaced=entry is None or (entry.row or member.item) != member.row,
            room=self._room(partition, user, member.evicted),
        )

    def done(self, partition: int, user: bytes, command_id: str) -> InboxDone | None:
        """What a command did, if it is one of the last."""
        slots = self._all(partition, user, _COMMAND, decode_inbox_done)
        return next((done for done in slots.values() if done.command_id == command_id), None)

    def remember(self, partition: int, user: bytes, header: InboxHeader, done: InboxDone, outgoing: Outgoing) -> None:
        """Keep what the header's last command did, in the place of an old one."""
        slot = bytes([header.commands % SLOTS])
        self.write(partition, of_user(user, _COMMAND, slot), pack(done), outgoing)

    def change(self, partition: int, user: bytes, entries: dict[bytes, InboxEntry], outgoing: Outgoing) -> None:
        """Keep these entries."""
        for key, entry in entries.items():
            self._put(partition, user, key, entry, outgoing)

    def keep(self, partition: int, user: bytes, header: InboxHeader, outgoing: Outgoing) -> None:
        """Keep the header."""
        self.write(partition, of_user(user, _HEADER), pack(header), outgoing)

    def forget(self, partition: int, user: bytes, keys: tuple[bytes, ...], now: int, outgoing: Outgoing) -> None:
        """Entries of these keys, and of groups what is needed no longer."""
        for key in keys:
            self.delete(partition, of_user(user, _ITEM, key), outgoing)
        members = self._all(partition, user, _MEMBER, decode_inbox_member)
        groups = self._all(partition, user, _GROUP, decode_inbox_group)
        gone = [of_user(user, _MEMBER, print_) for print_, member in members.items() if member.kept_until <= now]
        gone += [of_user(user, _GROUP, key) for key, group in groups.items() if group.kept_until <= now]
        for name in gone:
            self.delete(partition, name, outgoing)

    def _with_room(
        self, partition: int, user: bytes, header: InboxHeader, most: int, outgoing: Outgoing
    ) -> tuple[InboxHeader, Room | None]:
        if header.unread < most:
            return header, None
        key, entry = self._oldest_unread(partition, user, header)
        header, gone = inbox.evicted(header, key, entry)
        self._put(partition, user, key, gone, outgoing)
        return header, Room(key, gone.row or key, header)

    def _oldest_unread(self, partition: int, user: bytes, header: InboxHeader) -> tuple[bytes, InboxEntry]:
        prefix, at = of_user(user, _ITEM), of_user(user, _ITEM, header.oldest)
        while found := self.items(partition, at, of_user(user, _after(_ITEM)), _PORTION):
            for key, value in found:
                entry = decode_inbox_entry(value)
                if inbox.is_unread(header, entry):
                    return key[len(prefix) :], entry
            at = found[-1][0] + b"\x00"
        raise LookupError("the header counts unread items that are not there")

    def _room(self, partition: int, user: bytes, key: bytes) -> Room | None:
        if not key:
            return None
        entry = self.entry(partition, user, key)
        return Room(key, key if entry is None else entry.row or key)

    def _put(self, partition: int, user: bytes, key: bytes, entry: InboxEntry, outgoing: Outgoing) -> None:
        self.write(partition, of_user(user, _ITEM, key), pack(entry), outgoing)

    def _all(self, partition: int, user: bytes, kind: bytes, decode: Callable[[bytes], T]) -> dict[bytes, T]:
        prefix = of_user(user, kind)
        found = self.items(partition, prefix, of_user(user, _after(kind)), _ALL)
        return {key[len(prefix) :]: decode(value) for key, value in found}


def _placed(entry: InboxEntry, sequence: int, room: Room | None) -> InboxEntry:
    return InboxEntry(
        sequence,
        expires_at=entry.expires_at,
        fresh=sequence,
        row=entry.row,
        ids=entry.ids,
        channels=entry.channels,
        evicted=b"" if room is None else room.key,
        group=entry.group,
    )


def _after(kind: bytes) -> bytes:
    return bytes([kind[0] + 1])
