"""GET inbox and counts: newest first, in pages, with the sequence at which they hold."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from aiohttp import web

from notify_streams.gateway.auth import Auth
from notify_streams.gateway.commands import etag
from notify_streams.gateway.inbox_cache import InboxCache
from notify_streams.gateway.inbox_views import QUERY, Asked, Counts, Filter, Page, asked, cursor
from notify_streams.gateway.routes import Route, json_response
from notify_streams.ports import InboxCounts, InboxItem, InboxStore
from schemas.codec import encode

PATH = "/v1/users/{user_id}/inbox"
_MAX_SCANS = 10
_IF_NONE_MATCH = {"If-None-Match": "The ETag of what the caller has: 304 while it holds"}


@dataclass(frozen=True, slots=True)
class Inbox:
    """Shows people what they were told. The ETag is the user's sequence: polling costs one look into Redis."""

    auth: Auth
    store: InboxStore
    cache: InboxCache
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def routes(self) -> tuple[Route, ...]:
        """The list and its counts."""
        return (
            Route(
                method="GET",
                path=PATH,
                handler=self.page,
                summary="The inbox, newest first",
                who="user",
                query=QUERY,
                headers=_IF_NONE_MATCH,
                answers={200: Page, 304: "nothing has changed"},
                problems=(400, 401, 404, 503),
            ),
            Route(
                method="GET",
                path=PATH + "/counts",
                handler=self.counts,
                summary="How many are unread and unseen",
                who="user",
                headers=_IF_NONE_MATCH,
                answers={200: Counts, 304: "nothing has changed"},
                problems=(401, 404, 503),
            ),
        )

    async def page(self, request: web.Request) -> web.Response:
        """One page."""
        user_id, _ = self.auth.about(request)
        which = asked(request)
        kept = await self.cache.first_page(user_id)
        counts = kept.counts or await self._counts(user_id)
        tag = etag(counts.sequence)
        if _has(request, tag):
            return _unchanged(tag)
        if kept.page is not None and which.is_first:
            return json_response(kept.page, headers={"ETag": tag})
        page = encode(await self._listed(user_id, which))
        if which.is_first:
            await self.cache.keep_page(user_id, counts.sequence, page)
        return json_response(page, headers={"ETag": tag})

    async def counts(self, request: web.Request) -> web.Response:
        """The header."""
        user_id, _ = self.auth.about(request)
        counts = (await self.cache.counts(user_id)).counts or await self._counts(user_id)
        tag = etag(counts.sequence)
        if _has(request, tag):
            return _unchanged(tag)
        return json_response(encode(Counts(counts.unread, counts.unseen, counts.sequence)), headers={"ETag": tag})

    async def _counts(self, user_id: str) -> InboxCounts:
        counts: InboxCounts = await self.store.counts(user_id)
        await self.cache.keep_counts(user_id, counts)
        return counts

    async def _listed(self, user_id: str, which: Asked) -> Page:
        found, now, before, limit = list[InboxItem](), self.now(), which.before, which.limit
        for _scan in range(_MAX_SCANS):
            rows = await self.store.page(user_id, before=before, limit=limit + 1, now=now)
            for row in rows[:limit]:
                before = row.item_id
                if _passes(row, which.state):
                    found.append(row)
                if len(found) == limit:
                    break
            more = len(rows) > limit or (bool(rows) and rows[-1].item_id != before)
            if len(found) == limit or not more:
                break
        return Page(tuple(row.view() for row in found), cursor(before) if more and before is not None else None)


def _passes(row: InboxItem, state: Filter) -> bool:
    match state:
        case "archived":
            return row.archived
        case "all":
            return not row.archived
        case _:
            return not row.archived and row.read == (state == "read")


def _has(request: web.Request, tag: str) -> bool:
    """Whether the caller holds what has this tag (RFC 9110 section 13.1.2: weak comparison)."""
    held = request.headers.get("If-None-Match")
    return held is not None and tag in (one.strip().removeprefix("W/") for one in held.split(","))


def _unchanged(tag: str) -> web.Response:
    return web.Response(status=304, headers={"ETag": tag})
