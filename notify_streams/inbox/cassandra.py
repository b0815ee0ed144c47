"""Inbox items and headers in Cassandra: grouped, idempotent writes, pages over months."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from notify_streams.ports import InboxCounts, InboxItem
from notify_streams.stores.cassandra import Session

from .content import content_of, decode_content
from .order import instant_of, month_of, months

_STATEMENTS = {
    "item": "INSERT INTO inbox (user_id, month, item_id, notification_id, type, category, sequence, expires_at, read,"
    " content) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ?",
    "header": "INSERT INTO inbox_headers (user_id, sequence, unread, unseen) VALUES (?, ?, ?, ?) USING TIMESTAMP ?",
    "newest": "SELECT * FROM inbox WHERE user_id = ? AND month = ? LIMIT ?",
    "older": "SELECT * FROM inbox WHERE user_id = ? AND month = ? AND item_id < ? LIMIT ?",
    "counts": "SELECT sequence, unread, unseen FROM inbox_headers WHERE user_id = ?",
}


class CassandraInbox:
    """Write timestamps are sequences: a repeat or a late write changes nothing."""

    def __init__(self, session: Session, prepared: Mapping[str, Any], kept: timedelta) -> None:
        self._session, self._prepared, self._kept = session, prepared, kept

    @classmethod
    async def open(cls, session: Session, *, kept: timedelta) -> "CassandraInbox":
        """On a session with the keyspace; `kept` is how long items live. Raises Unavailable."""
        return cls(session, await session.prepare(_STATEMENTS), kept)

    async def write(self, items: Sequence[InboxItem], headers: Mapping[str, InboxCounts]) -> None:
        """See ports.InboxStore."""
        item, header = self._prepared["item"], self._prepared["header"]
        rows: list[tuple[Any, Sequence[Any]]] = [(item, _values(i)) for i in items]
        rows += [(header, (user, h.sequence, h.unread, h.unseen, h.sequence)) for user, h in headers.items()]
        await self._session.write(rows)

    async def page(self, user_id: str, *, before: UUID | None, limit: int, now: datetime) -> Sequence[InboxItem]:
        """See ports.InboxStore."""
        now_ms = now.timestamp() * 1000
        found: list[InboxItem] = []
        async for row in self._rows(user_id, before, limit, now):
            if _shown(row, now_ms):
                found.append(_item(row))
            if len(found) == limit:
                break
        return found

    async def counts(self, user_id: str) -> InboxCounts:
        """See ports.InboxStore."""
        [rows] = await self._session.select(self._prepared["counts"], (user_id,))
        return InboxCounts(*(value or 0 for value in rows[0])) if rows else InboxCounts()

    async def _rows(self, user_id: str, before: UUID | None, limit: int, now: datetime) -> AsyncIterator[Any]:
        """All rows older than `before`, newest first, asked for `limit` at a time."""
        for month in months(before, now, self._kept):
            last = before
            while True:
                name, bound = ("newest", ()) if last is None else ("older", (last,))
                [rows] = await self._session.select(self._prepared[name], (user_id, month, *bound, limit))
                for row in rows:
                    yield row
                if len(rows) < limit:
                    break
                last = rows[-1].item_id


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
        item.sequence,
    )


def _shown(row: Any, now_ms: float) -> bool:
    """Not what has expired, was replaced by a newer row, or is only what a state change left of a row that aged."""
    return row.content is not None and not row.superseded and not (row.expires_at and row.expires_at <= now_ms)


def _item(row: Any) -> InboxItem:
    content = decode_content(row.content)
    return InboxItem(
        user_id=row.user_id,
        item_id=row.item_id,
        notification_id=str(row.notification_id),
        type=row.type,
        category=row.category,
        accepted_at=instant_of(row.item_id),
        sequence=row.sequence,
        title=content.title,
        body=content.body,
        link=content.link,
        payload=bytes(content.payload),
        read=bool(row.read),
        expires_at=row.expires_at or 0,
    )
