"""Inbox rows and headers as they are in Cassandra, read beside the code that writes and shows them."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from notify_streams.stores.cassandra import Session

_STATEMENTS = {
    "rows": "SELECT notification_id, sequence FROM inbox WHERE user_id = ? AND month = ?",
    "header": "SELECT sequence, unread FROM inbox_headers WHERE user_id = ?",
}


class Header(msgspec.Struct, frozen=True):
    """The last sequence given out, and the count that holds at it."""

    sequence: int = 0
    unread: int = 0


class Inboxes:
    """Of some users."""

    def __init__(self, session: Session, prepared: Mapping[str, Any], users: Iterable[str]) -> None:
        self._session, self._prepared, self._users = session, prepared, list(users)

    @classmethod
    async def open(cls, session: Session, users: Iterable[str]) -> "Inboxes":
        """Raises Unavailable."""
        return cls(session, await session.prepare(_STATEMENTS), users)

    async def headers(self) -> dict[str, Header]:
        """By user. Raises Unavailable."""
        answers = await self._session.select(self._prepared["header"], *((user,) for user in self._users))
        return {
            user: Header(rows[0].sequence or 0, rows[0].unread or 0) if rows else Header()
            for user, rows in zip(self._users, answers, strict=True)
        }

    async def rows_since(self, headers: Mapping[str, Header], months: Iterable[datetime]) -> list[tuple[str, str, int]]:
        """User, notification and sequence of every row that is younger than these headers. Raises Unavailable."""
        wanted = {at.year * 100 + at.month for at in months}
        keys = [(user, month) for user in self._users for month in sorted(wanted)]
        answers = await self._session.select(self._prepared["rows"], *keys)
        return [
            (user, str(row.notification_id), row.sequence)
            for (user, _), rows in zip(keys, answers, strict=True)
            for row in rows
            if (row.sequence or 0) > headers[user].sequence
        ]
