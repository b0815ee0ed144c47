"""What becomes of an inbox: counts and states as a fold over items, by whoever is its one writer.

An entry is unread while it is in the inbox, was not marked read, and became fresh after `read_through`. The counts in
the header are always those of such a fold over all entries.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from notify_streams.domain import item_ids
from schemas.inbox import InboxEntry, InboxHeader

LIVE, ARCHIVED, EXPIRED = 0, 1, 2
REDELIVERED_MS = 48 * 3_600_000  # for so long the log may bring an item again, whatever has become of it


class Counts(NamedTuple):
    """How many entries are unread and unseen."""

    unread: int
    unseen: int


def is_unread(header: InboxHeader, entry: InboxEntry) -> bool:
    """Whether it counts as unread."""
    return entry.gone == LIVE and not entry.read and entry.fresh > header.read_through


def is_unseen(header: InboxHeader, entry: InboxEntry) -> bool:
    """Whether it counts as unseen."""
    return entry.gone == LIVE and not entry.seen and entry.sequence > header.seen_through


def counted(header: InboxHeader, entries: Iterable[InboxEntry]) -> Counts:
    """The counts of all entries under the header's marks."""
    unread = unseen = 0
    for entry in entries:
        unread += is_unread(header, entry)
        unseen += is_unseen(header, entry)
    return Counts(unread, unseen)


def moved(header: InboxHeader, before: InboxEntry, after: InboxEntry) -> InboxHeader:
    """The header once an entry is in another state."""
    return replace(
        header,
        unread=header.unread + is_unread(header, after) - is_unread(header, before),
        unseen=header.unseen + is_unseen(header, after) - is_unseen(header, before),
    )


def appeared(header: InboxHeader, key: bytes, before: InboxEntry | None, expires_at: int) -> InboxHeader:
    """The header once the item of this key is on top as the next sequence; `before` is what it was until then."""
    was_unread = before is not None and is_unread(header, before)
    was_unseen = before is not None and is_unseen(header, before)
    return InboxHeader(
        header.sequence + 1,
        header.unread + (not was_unread),
        header.unseen + (not was_unseen),
        header.read_through,
        header.seen_through,
        _earlier(header.swept_at, expires_at),
        header.commands,
        header.generation,
        header.applied_through,
        min(header.oldest, key),
    )


def evicted(header: InboxHeader, key: bytes, entry: InboxEntry) -> tuple[InboxHeader, InboxEntry]:
    """The oldest unread one archived, as a sequence of its own: another one needs the room."""
    gone = replace(entry, gone=ARCHIVED)
    return replace(moved(header, entry, gone), sequence=header.sequence + 1, oldest=key), gone


def kept_until(key: bytes, expires_at: int) -> int:
    """How long an entry is needed (ms): while its item can be listed, and while it may be brought again."""
    return max(expires_at, item_ids.accepted_at(key) + REDELIVERED_MS)


def next_due(header: InboxHeader, entries: Mapping[bytes, InboxEntry], after: int) -> int:
    """When something of these is to be swept next, later than `after` (ms); 0 for never."""
    due = (
        entry.expires_at if counts(header, entry) else kept_until(entry.row or key, entry.expires_at)
        for key, entry in entries.items()
    )
    return max(min(due, default=0), after + 1) if entries else 0


def counts(header: InboxHeader, entry: InboxEntry) -> bool:
    """Whether it is in any of the counts."""
    return is_unread(header, entry) or is_unseen(header, entry)


def _earlier(swept_at: int, expires_at: int) -> int:
    return expires_at if not swept_at or expires_at < swept_at else swept_at
