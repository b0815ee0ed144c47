"""Inboxes in memory: for tests, and as the contract's plainest reading."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from notify_streams.ports import InboxChange, InboxCounts, InboxItem

from .order import instant_of, place
from .statements import STATES


class MemoryInbox:
    """The highest sequence wins, per row and state and per header."""

    def __init__(self, *, kept: timedelta) -> None:
        self._kept = kept
        self._items: dict[str, dict[UUID, InboxItem]] = {}
        self._states: dict[tuple[str, UUID, str], tuple[int, bool]] = {}
        self._headers: dict[str, InboxCounts] = {}

    async def write(
        self, items: Sequence[InboxItem], headers: Mapping[str, InboxCounts], changes: Sequence[InboxChange] = ()
    ) -> None:
        """See ports.InboxStore."""
        for item in items:
            of_user = self._items.setdefault(item.user_id, {})
            known = of_user.get(item.item_id)
            if known is None or known.sequence < item.sequence:
                of_user[item.item_id] = item
            self._set(item.user_id, item.item_id, "read", item.sequence, item.read)
        for change in changes:
            for state in STATES:
                value = getattr(change, state)
                if value is not None:
                    self._set(change.user_id, change.item_id, state, change.sequence, value)
        for user, header in headers.items():
            if self._headers.get(user, InboxCounts()).sequence < header.sequence:
                self._headers[user] = header

    async def page(self, user_id: str, *, before: UUID | None, limit: int, now: datetime) -> Sequence[InboxItem]:
        """See ports.InboxStore."""
        now_ms, oldest = now.timestamp() * 1000, (now - self._kept).timestamp() * 1000
        shown = [
            self._now(item)
            for item in self._items.get(user_id, {}).values()
            if (before is None or place(item.item_id) < place(before))
            and not (item.expires_at and item.expires_at <= now_ms)
            and instant_of(item.item_id) > oldest
            and not self._get(item, "superseded")[1]
        ]
        return sorted(shown, key=lambda item: place(item.item_id), reverse=True)[:limit]

    async def counts(self, user_id: str) -> InboxCounts:
        """See ports.InboxStore."""
        return self._headers.get(user_id, InboxCounts())

    def _set(self, user: str, item_id: UUID, state: str, sequence: int, value: bool) -> None:
        known = self._states.get((user, item_id, state))
        if known is None or known[0] < sequence:
            self._states[user, item_id, state] = sequence, value

    def _get(self, item: InboxItem, state: str) -> tuple[int, bool]:
        return self._states.get((item.user_id, item.item_id, state), (item.sequence, False))

    def _now(self, item: InboxItem) -> InboxItem:
        header = self._headers.get(item.user_id, InboxCounts())
        (read_at, read), (_, seen), (_, archived) = (self._get(item, state) for state in STATES[:3])
        return msgspec.structs.replace(
            item,
            read=read or read_at <= header.read_through,
            seen=seen or item.sequence <= header.seen_through,
            archived=archived,
        )
