"""Inbox rows as CQL: what is written for an item, a change, a header. Each with the sequence as its timestamp."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from notify_streams.ports import InboxChange, InboxCounts, InboxItem

from .content import content_of
from .order import instant_of, month_of

STATES = ("read", "seen", "archived", "superseded")
_ROW = (
    "SELECT user_id, item_id, notification_id, stands_for, type, category, sequence, expires_at, read, seen, archived,"
    " superseded, content, WRITETIME(read) AS read_at FROM inbox WHERE user_id = ? AND month = ?"
)
_CHANGE = "UPDATE inbox USING TIMESTAMP ? AND TTL ? SET {} = ? WHERE user_id = ? AND month = ? AND item_id = ?"
STATEMENTS = {
    "item": "INSERT INTO inbox (user_id, month, item_id, notification_id, type, category, sequence, expires_at, read,"
    " content) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ?",
    "grown": "INSERT INTO inbox (user_id, month, item_id, notification_id, type, category, sequence, expires_at, read,"
    " content, stands_for) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ?",
    "header": "INSERT INTO inbox_headers (user_id, sequence, unread, unseen, read_through, seen_through)"
    " VALUES (?, ?, ?, ?, ?, ?) USING TIMESTAMP ?",
    **{state: _CHANGE.format(state) for state in STATES},
    "newest": f"{_ROW} LIMIT ?",
    "older": f"{_ROW} AND item_id < ? LIMIT ?",
    "counts": "SELECT sequence, unread, unseen, read_through, seen_through FROM inbox_headers WHERE user_id = ?",
}
Rows = list[tuple[Any, Sequence[Any]]]


def of_items(prepared: Mapping[str, Any], items: Sequence[InboxItem]) -> Rows:
    """Whole rows."""
    return [
        (prepared["item"], (*_values(item), item.sequence))
        if item.stands_for is None
        else (prepared["grown"], (*_values(item), item.stands_for, item.sequence))
        for item in items
    ]


def of_changes(prepared: Mapping[str, Any], changes: Sequence[InboxChange], kept: timedelta, now: datetime) -> Rows:
    """Single columns, for as long as their rows live; none of rows that are gone."""
    return [
        (prepared[state], (change.sequence, left, value, change.user_id, month_of(change.item_id), change.item_id))
        for change in changes
        if (left := _left(change.item_id, kept, now)) > 0
        for state in STATES
        if (value := getattr(change, state)) is not None
    ]


def of_headers(prepared: Mapping[str, Any], headers: Mapping[str, InboxCounts]) -> Rows:
    """Whole headers."""
    return [
        (prepared["header"], (user, h.sequence, h.unread, h.unseen, h.read_through, h.seen_through, h.sequence))
        for user, h in headers.items()
    ]


def _left(item_id: UUID, kept: timedelta, now: datetime) -> int:
    """Seconds that the row has still to live."""
    return int(kept.total_seconds() - (now.timestamp() - instant_of(item_id) / 1000))


def _values(item: InboxItem) -> tuple[Any, ...]:
    return (
        item.user_id,
        month_of(item.item_id),
        item.item_id,
        UUID(item.notification_id),
        item.type,
        item.category,
        item.sequence,
        item.expires_at,
        item.read,
        content_of(item),
    )
