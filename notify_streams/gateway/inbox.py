"""GET inbox and counts: newest first, in pages."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal
from uuid import UUID

import msgspec
from aiohttp import web

from notify_streams.gateway.auth import Auth
from notify_streams.gateway.problems import Problem
from notify_streams.gateway.routes import Route, json_response
from notify_streams.ports import InboxCounts, InboxItem, InboxStore
from schemas.codec import encode
from schemas.commands import FieldError

_DEFAULT_LIMIT, _MAX_LIMIT = 20, 100
_MAX_SCANS = 10
_STATES = ("all", "unread", "read")


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """An inbox item. `payload` is the event's, digit for digit; instants are RFC 3339 in UTC."""

    item_id: UUID
    notification_id: str
    type: str
    category: str
    accepted_at: datetime
    sequence: int
    state: Literal["read", "unread"]
    title: str
    body: str
    link: str | None
    payload: msgspec.Raw


class Page(msgspec.Struct, frozen=True):
    """Some items, and the cursor of what follows; null at the end."""

    items: tuple[Item, ...]
    next: str | None


class Counts(msgspec.Struct, frozen=True):
    """The counts that hold at `sequence`."""

    unread: int
    unseen: int
    sequence: int


@dataclass(frozen=True, slots=True)
class Inbox:
    """Shows people what they were told."""

    auth: Auth
    store: InboxStore
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def routes(self) -> tuple[Route, ...]:
        """The list and its counts."""
        path = "/v1/users/{user_id}/inbox"
        query = {
            "state": f"one of {', '.join(_STATES)}",
            "after": "the `next` of the page before",
            "limit": f"1 to {_MAX_LIMIT}, {_DEFAULT_LIMIT} when left out",
        }
        return (
            Route(
                method="GET",
                path=path,
                handler=self.page,
                summary="The inbox, newest first",
                who="user",
                query=query,
                answers={200: Page},
                problems=(400, 401, 404, 503),
            ),
            Route(
                method="GET",
                path=path + "/counts",
                handler=self.counts,
                summary="How many are unread and unseen",
                who="user",
                answers={200: Counts},
                problems=(401, 404, 503),
            ),
        )

    async def page(self, request: web.Request) -> web.Response:
        """One page."""
        user_id, _ = self.auth.about(request)
        before, limit, state = _cursor_of(request), _limit_of(request), _state_of(request)
        found, now = list[InboxItem](), self.now()
        for _scan in range(_MAX_SCANS):
            rows = await self.store.page(user_id, before=before, limit=limit + 1, now=now)
            for row in rows[:limit]:
                before = row.item_id
                if state == "all" or row.read == (state == "read"):
                    found.append(row)
                if len(found) == limit:
                    break
            more = len(rows) > limit or (bool(rows) and rows[-1].item_id != before)
            if len(found) == limit or not more:
                break
        page = Page(tuple(map(_shown, found)), _cursor(before) if more and before is not None else None)
        return json_response(encode(page))

    async def counts(self, request: web.Request) -> web.Response:
        """The header."""
        user_id, _ = self.auth.about(request)
        counts: InboxCounts = await self.store.counts(user_id)
        return json_response(encode(Counts(counts.unread, counts.unseen, counts.sequence)))


def _shown(item: InboxItem) -> Item:
    return Item(
        item_id=item.item_id,
        notification_id=item.notification_id,
        type=item.type,
        category=item.category,
        accepted_at=datetime.fromtimestamp(item.accepted_at / 1000, UTC),
        sequence=item.sequence,
        state="read" if item.read else "unread",
        title=item.title,
        body=item.body,
        link=item.link,
        payload=msgspec.Raw(item.payload or b"{}"),
    )


def _cursor(item_id: UUID) -> str:
    return urlsafe_b64encode(item_id.bytes).rstrip(b"=").decode()


def _cursor_of(request: web.Request) -> UUID | None:
    text = request.query.get("after")
    if text is None:
        return None
    try:
        item_id = UUID(bytes=urlsafe_b64decode(text + "=="))
    except ValueError:
        item_id = UUID(int=0)
    if item_id.version != 1:
        raise _bad_parameter("after", "no cursor of ours")
    return item_id


def _limit_of(request: web.Request) -> int:
    text = request.query.get("limit", str(_DEFAULT_LIMIT))
    if not (text.isascii() and text.isdecimal() and len(text) <= 6 and 1 <= int(text) <= _MAX_LIMIT):
        raise _bad_parameter("limit", f"a number from 1 to {_MAX_LIMIT}")
    return int(text)


def _state_of(request: web.Request) -> str:
    state = request.query.get("state", "all")
    if state not in _STATES:
        raise _bad_parameter("state", f"one of {', '.join(_STATES)}")
    return state


def _bad_parameter(name: str, detail: str) -> Problem:
    return Problem(400, "invalid_parameter", f"{name}: {detail}", errors=(FieldError(f"/{name}", detail),))
