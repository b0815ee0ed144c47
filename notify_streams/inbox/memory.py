"""Inboxes in memory: for tests, and as the contract's plainest reading."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from notify_streams.ports import InboxCounts, InboxItem

from .order import instant_of, place


class MemoryInbox:
    """The highest sequence wins, per row and per header."""

    def __init__(self, *, kept: timedelta) -> None:
        self._kept = kept
        self._items: dict[str, dict[UUID, InboxItem]] = {}
        self._headers: dict[str, InboxCounts] = {}

    async def write(self, items: Sequence[InboxItem], headers: Mapping[str, InboxCounts]) -> None:
        """See ports.InboxStore."""
        for item in items:
            of_user = self._items.setdefault(item.user_id, {})
            known = of_user.get(item.item_id)
            if known is None or known.sequence < item.sequence:
                of_user[item.item_id] = item
        for user, header in headers.items():
            if self._headers.get(user, InboxCounts()).sequence < header.sequence:
                self._headers[user] = header

    async def page(self, user_id: str, *, before: UUID | None, limit: int, now: datetime) -> Sequence[InboxItem]:
        """See ports.InboxStore."""
        now_ms, oldest = now.timestamp() * 1000, (now - self._kept).timestamp() * 1000
        shown = [
            item
            for item in self._items.get(user_id, {}).values()
            if (before is None or place(item.item_id) < place(before))
            and not (item.expires_at and item.expires_at <= now_ms)
            and instant_of(item.item_id) > oldest
        ]
        return sorted(shown, key=lambda item: place(item.item_id), reverse=True)[:limit]

    async def counts(self, user_id: str) -> InboxCounts:
        """See ports.InboxStore."""
        return self._headers.get(user_id, InboxCounts())
