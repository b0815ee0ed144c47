"""Inbox items and headers in Cassandra: grouped, idempotent writes, pages over months."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from notify_streams.ports import InboxChange, InboxCounts, InboxItem
from notify_streams.stores.cassandra import Session

from .content import decode_content
from .order import instant_of, months
from .statements import STATEMENTS, of_changes, of_headers, of_items


class CassandraInbox:
    """Write timestamps are sequences: a repeat or a late write changes nothing."""

    def __init__(
        self,
        session: Session,
        prepared: Mapping[str, Any],
        kept: timedelta,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._session, self._prepared, self._kept, self._now = session, prepared, kept, now

    @classmethod
    async def open(
        cls, session: Session, *, kept: timedelta, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> "CassandraInbox":
        """On a session with the keyspace; `kept` is how long items live. Raises Unavailable."""
        return cls(session, await session.prepare(STATEMENTS), kept, now)

    async def write(
        self, items: Sequence[InboxItem], headers: Mapping[str, InboxCounts], changes: Sequence[InboxChange] = ()
    ) -> None:
        """See ports.InboxStore."""
        rows = of_items(self._prepared, items)
        if changes:
            rows += of_changes(self._prepared, changes, self._kept, self._now())
        if rows:
            await self._session.write(rows)
        if headers:
            await self._session.write(of_headers(self._prepared, headers))

    async def page(self, user_id: str, *, before: UUID | None, limit: int, now: datetime) -> Sequence[InboxItem]:
        """See ports.InboxStore."""
        now_ms, header = now.timestamp() * 1000, await self.counts(user_id)
        found: list[InboxItem] = []
        async for row in self._rows(user_id, before, limit, now):
            if _shown(row, now_ms):
                found.append(_item(row, header))
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


def _shown(row: Any, now_ms: float) -> bool:
    """Not what has expired, was replaced by a newer row, or is only what a state change left of a row that aged."""
    return row.content is not None and not row.superseded and not (row.expires_at and row.expires_at <= now_ms)


def _item(row: Any, header: InboxCounts) -> InboxItem:
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
        read=bool(row.read) or (row.read_at or row.sequence) <= header.read_through,
        seen=bool(row.seen) or row.sequence <= header.seen_through,
        archived=bool(row.archived),
        expires_at=row.expires_at or 0,
        stands_for=row.stands_for,
        count=content.count,
        actors=content.actors,
        others=content.others,
    )
