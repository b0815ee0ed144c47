"""Frames as they travel: the JSON of one, and what is needed of it to put it in order."""

from collections.abc import Sequence

import msgspec

from notify_streams.ports import InboxCounts
from schemas.codec import encode
from schemas.frames import Bye, Hello, Ping, Reset


class Told(msgspec.Struct, frozen=True, gc=False):
    """One frame for a client. `sequence` is None for those that say nothing about the inbox."""

    type: str
    payload: bytes
    sequence: int | None = None


class Change(msgspec.Struct, frozen=True, gc=False):
    """What the channel and the tail carry: one frame of the inbox, and its place."""

    sequence: int
    told: Told
    counts: InboxCounts


class Reading(msgspec.Struct, frozen=True):
    """What was found when somebody looked: the last sequence, the counts there, and changes that came before it."""

    counts: InboxCounts
    changes: Sequence[Change] = ()

    @property
    def sequence(self) -> int:
        """The last one."""
        return self.counts.sequence


class _Peek(msgspec.Struct, frozen=True):
    type: str
    sequence: int
    unread: int = 0
    unseen: int = 0


_peek = msgspec.json.Decoder(_Peek).decode
PING = Told("ping", encode(Ping()))


def change_of(payload: bytes) -> Change:
    """A frame of the inbox role. Raises msgspec.MsgspecError for what is none."""
    seen = _peek(payload)
    told = Told(seen.type, payload, seen.sequence)
    return Change(seen.sequence, told, InboxCounts(seen.sequence, seen.unread, seen.unseen))


def hello(sequence: int, counts: InboxCounts) -> Told:
    """Where a stream begins."""
    frame = Hello(sequence=sequence, unread=counts.unread, unseen=counts.unseen)
    return Told("hello", encode(frame), sequence)


def reset(reason: str, sequence: int) -> Told:
    """Where it goes on."""
    return Told("reset", encode(Reset(reason=reason, sequence=sequence)), sequence)


def bye(reconnect_ms: int) -> Told:
    """That it ends, and when to come back."""
    return Told("bye", encode(Bye(reconnect_ms=reconnect_ms)))
