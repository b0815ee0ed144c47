"""What commands and the clock do to an inbox: pure, one sequence for whatever changes."""

from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from notify_streams.domain import item_ids
from notify_streams.domain.inbox import (
    ARCHIVED,
    EXPIRED,
    LIVE,
    counted,
    counts,
    is_unread,
    is_unseen,
    kept_until,
    moved,
    next_due,
)
from schemas.commands import FieldError
from schemas.inbox import InboxAction, InboxCommandV1, InboxDone, InboxEntry, InboxHeader, ItemState

STATES: dict[InboxAction, ItemState] = {"read": "read", "unread": "unread", "seen": "seen", "archive": "archived"}
SLOTS = 32  # commands that are remembered: agents take no more at once, so a crash finds the whole last batch
MOST_EXPIRED, MOST_FORGOTTEN, MOST_STOPPED = 100, 500, 1000
Entries = Mapping[bytes, InboxEntry]


class Carried(msgspec.Struct, frozen=True):
    """The header after it, the entries that differ, what is remembered of it, and whose other channels are stopped."""

    header: InboxHeader
    done: InboxDone
    entries: dict[bytes, InboxEntry] = {}
    forgotten: tuple[bytes, ...] = ()


def fault_of(command: InboxCommandV1) -> FieldError | None:
    """What is wrong with a command, whoever it is for."""
    if command.up_to is None:
        return None if command.item_ids else FieldError("/item_ids", "some items, or `up_to`")
    if command.item_ids:
        return FieldError("/up_to", "either this or `item_ids`")
    if command.action not in ("read", "seen"):
        return FieldError("/action", f"{command.action} is of single items")
    return None


def keys_of(command: InboxCommandV1) -> list[bytes]:
    """The keys of the items that it names, each once; what cannot be an item's id is of none."""
    return list(dict.fromkeys(key for text in command.item_ids if (key := item_ids.named(text)) is not None))


def carried_out(header: InboxHeader, entries: Entries, command: InboxCommandV1, now: int) -> Carried:
    """One command. `entries` are those that it names, or all where it has `up_to`."""
    if fault_of(command) is not None:
        return _unchanged(header, command.command_id)
    if command.up_to is not None:
        return _of_all(header, entries, command, command.up_to)
    sequence, after = header.sequence + 1, dict[bytes, InboxEntry]()
    for key, entry in entries.items():
        marked = _marked(header, entry, command.action, sequence) if _is_there(entry, now) else None
        if marked is not None:
            header, after[key] = moved(header, entry, marked), marked
    if not after:
        return _unchanged(header, command.command_id)
    if command.action == "unread":
        header = replace(header, oldest=min(header.oldest, *after))
    header = replace(header, sequence=sequence)
    done = _done(header, command.command_id, STATES[command.action], items=b"".join(after))
    return Carried(header, done, after)


def swept(header: InboxHeader, entries: Entries, command_id: str, now: int) -> Carried:
    """What has expired leaves the counts; what nobody needs any more is forgotten; the next time is in the header."""
    after = dict[bytes, InboxEntry]()
    for key, entry in entries.items():
        if entry.expires_at <= now and counts(header, entry) and len(after) < MOST_EXPIRED:
            after[key] = replace(entry, gone=EXPIRED)
            header = moved(header, entry, after[key])
    left = {**entries, **after}
    forgotten = tuple(_forgettable(header, left, now))[:MOST_FORGOTTEN]
    for key in forgotten:
        del left[key]
    header = replace(header, swept_at=next_due(header, left, now))
    if not after:
        return replace(_unchanged(header, command_id), forgotten=forgotten)
    header = replace(header, sequence=header.sequence + 1)
    done = _done(header, command_id, "expired", items=b"".join(after))
    return Carried(header, done, {k: e for k, e in after.items() if k in left}, forgotten)


def stopped_by(done: InboxDone, entries: Entries, now: int) -> Iterator[tuple[bytes, int]]:
    """Notifications (16 bytes of id) with their type's other channels, that need not be sent any more: newest first.

    `entries` are those that it was about, or all; what it did is done already.
    """
    if done.state not in ("read", "archived") or not done.sequence:
        return
    newest = sorted(((key, e) for key, e in entries.items() if e.channels and e.expires_at > now), reverse=True)
    found = (
        (entry.ids[at : at + 16], entry.channels)
        for _, entry in newest
        if done.up_to is None or entry.fresh <= done.up_to
        for at in range(0, len(entry.ids), 16)
    )
    for _, one in zip(range(MOST_STOPPED), found, strict=False):
        yield one


def _of_all(header: InboxHeader, entries: Entries, command: InboxCommandV1, up_to: int) -> Carried:
    bound = up_to if up_to <= header.sequence else _at_receipt(header, entries, command.at)
    seen_through = max(header.seen_through, bound)
    read_through = max(header.read_through, bound) if command.action == "read" else header.read_through
    marked = replace(header, read_through=read_through, seen_through=seen_through)
    unread, unseen = counted(marked, entries.values())
    if (unread, unseen) == (header.unread, header.unseen):
        return _unchanged(header, command.command_id)
    after = replace(marked, unread=unread, unseen=unseen, sequence=header.sequence + 1)
    return Carried(after, _done(after, command.command_id, STATES[command.action], up_to=bound))


def _at_receipt(header: InboxHeader, entries: Entries, at: int) -> int:
    """The last sequence before what was accepted after this instant (ms)."""
    later = (e.fresh for key, e in entries.items() if e.gone == LIVE and item_ids.accepted_at(e.row or key) > at)
    return min(later, default=header.sequence + 1) - 1


def _marked(header: InboxHeader, entry: InboxEntry, action: InboxAction, sequence: int) -> InboxEntry | None:
    """The entry after it; None where it is so already."""
    unread, unseen = is_unread(header, entry), is_unseen(header, entry)
    match action:
        case "read":
            return replace(entry, read=True, seen=True) if unread or unseen else None
        case "unread":
            return None if unread else replace(entry, read=False, fresh=sequence)
        case "seen":
            return replace(entry, seen=True) if unseen else None
        case "archive":
            return replace(entry, gone=ARCHIVED)


def _is_there(entry: InboxEntry, now: int) -> bool:
    return entry.gone == LIVE and entry.expires_at > now


def _forgettable(header: InboxHeader, entries: Entries, now: int) -> Iterator[bytes]:
    return (
        key
        for key, entry in entries.items()
        if not counts(header, entry) and kept_until(entry.row or key, entry.expires_at) <= now
    )


def _unchanged(header: InboxHeader, command_id: str) -> Carried:
    return Carried(header, InboxDone(command_id, 0, header.unread, header.unseen))


def _done(
    header: InboxHeader, command_id: str, state: ItemState, *, items: bytes = b"", up_to: int | None = None
) -> InboxDone:
    return InboxDone(command_id, header.sequence, header.unread, header.unseen, state, items, up_to)
