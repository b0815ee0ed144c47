"""A gateway's inbox in memory, as a browser sees it: the real files, the real protocol, and hooks for bad days."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import jwt
import msgspec
from aiohttp import web

from notify_streams.gateway.problems import Problem, problems
from notify_streams.gateway.web.assets import Assets
from schemas.codec import encode
from schemas.frames import Bye, Changed, Hello, ItemFrame, ItemView, Reset, ServerFrame
from schemas.inbox import ItemState
from tests.browser.host import HOST_ROUTES
from tests.browser.preferences import Preferences

NOW = datetime.fromisoformat("2026-12-01T14:02:00+00:00")  # a Tuesday; the browsers of the tests believe so too
USER = "maria"
SECRET = "a secret of at least thirty-two bytes"
Outbox = asyncio.Queue[ServerFrame | None]


def a_token(number: int = 1, *, user: str = USER) -> str:
    return jwt.encode({"sub": user, "exp": 4_000_000_000, "jti": str(number)}, SECRET)


@dataclass
class InboxServer:
    """One user's inbox. What a test sets: `away` cuts everybody off, `refused` are tokens."""

    url: str = ""
    items: list[ItemView] = field(default_factory=list)
    sequence: int = 0
    tail: list[ServerFrame] = field(default_factory=list)
    tail_begins: int = 0
    preferences: Preferences = field(default_factory=Preferences)
    commands: list[tuple[str, Any]] = field(default_factory=list)
    sessions: dict[Outbox, web.Request] = field(default_factory=dict)
    opened: list[tuple[str, str | None]] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)
    without: set[str] = field(default_factory=set)
    away: bool = False
    lists_may_answer: asyncio.Event = field(default_factory=asyncio.Event)
    command_status: int = 200

    @property
    def unread(self) -> int:
        return sum(item.state == "unread" for item in self.items)

    @property
    def unseen(self) -> int:
        return sum(not item.seen and item.state != "archived" for item in self.items)

    # What happens.

    def put(self, title: str, *, ago: timedelta = timedelta(minutes=2), item_id: str = "", **more: Any) -> ItemView:
        """A new item, or one that grew, told to everybody who listens."""
        self.sequence += 1
        item = ItemView(
            item_id=item_id or f"00000000-0000-1000-8000-{self.sequence:012}",
            notification_id=f"n{self.sequence}",
            type="social.comment",
            category="social",
            accepted_at=NOW - ago,
            sequence=self.sequence,
            title=title,
            payload=msgspec.Raw(b"{}"),
            **more,
        )
        self.items = [item, *(old for old in self.items if old.item_id != item.item_id)]
        self.tell(ItemFrame(sequence=self.sequence, unread=self.unread, unseen=self.unseen, item=item))
        return item

    def change(self, state: ItemState, meant: Callable[[ItemView], bool], **told: Any) -> None:
        """Of what is so already, nothing changes; nothing changed is no sequence."""
        changed = [_changed(item, state) if meant(item) else item for item in self.items]
        if changed == self.items:
            return
        self.items = changed
        self.sequence += 1
        self.tell(Changed(sequence=self.sequence, unread=self.unread, unseen=self.unseen, state=state, **told))

    def tell(self, frame: ServerFrame) -> None:
        self.tail.append(frame)
        for outbox in self.sessions:
            outbox.put_nowait(frame)

    def bye(self, reconnect_ms: int) -> None:
        for outbox in self.sessions:
            outbox.put_nowait(Bye(reconnect_ms=reconnect_ms))

    def cut(self) -> None:
        """The network ends every live connection without a word."""
        for outbox, request in list(self.sessions.items()):
            outbox.put_nowait(None)
            if request.transport is not None:
                request.transport.abort()

    def forget(self) -> None:
        """The tail is too short for whoever was away."""
        self.tail.clear()
        self.tail_begins = self.sequence

    # What a session is told first.

    def frames_after(self, after: int | None) -> list[ServerFrame]:
        now = Hello(sequence=self.sequence, unread=self.unread, unseen=self.unseen)
        if after is None:
            return [now]
        if not self.tail_begins <= after <= self.sequence:
            return [now, Reset(reason="too_old", sequence=self.sequence)]
        missed = [frame for frame in self.tail if isinstance(frame, ItemFrame | Changed) and frame.sequence > after]
        return [msgspec.structs.replace(now, sequence=after), *missed]

    @asynccontextmanager
    async def session(self, request: web.Request, after: str | None, way: str) -> AsyncIterator[Outbox]:
        outbox: Outbox = asyncio.Queue()
        for frame in self.frames_after(None if after is None else int(after)):
            outbox.put_nowait(frame)
        self.opened.append((way, after))
        self.sessions[outbox] = request
        try:
            yield outbox
        finally:
            del self.sessions[outbox]

    def check(self, token: str) -> None:
        if not token or token in self.refused:
            raise Problem(401, "token_invalid", "the token is not valid here")


def _changed(item: ItemView, state: ItemState) -> ItemView:
    match state:
        case "seen":
            return msgspec.structs.replace(item, seen=True)
        case "archived":
            return msgspec.structs.replace(item, state="archived", seen=True)
        case "read" | "unread" if item.state != "archived":
            return msgspec.structs.replace(item, state=state, seen=True)
        case _:
            return item


class Api:
    """The routes of the gateway over it."""

    def __init__(self, server: InboxServer) -> None:
        self.server = server

    def routes(self) -> list[web.RouteDef]:
        base = "/v1/users/{user}"
        return [
            web.get(f"{base}/inbox", self.page),
            web.get(f"{base}/inbox/counts", self.counts),
            web.post(base + "/inbox/{which:read|seen}-all", self.all),
            web.post(base + "/inbox/{item}/{action:read|unread|archive}", self.one),
            web.get(f"{base}/preferences", self.preferences),
            web.patch(f"{base}/preferences", self.change_preferences),
            web.get("/v1/stream", self.websocket),
            web.get("/v1/stream/sse", self.sse),
        ]

    def _met(self, request: web.Request) -> None:
        self.server.check(request.headers.get("Authorization", "").removeprefix("Bearer "))

    async def page(self, request: web.Request) -> web.Response:
        self._met(request)
        await self.server.lists_may_answer.wait()
        state, start = request.query.get("state", "all"), int(request.query.get("after", 0))
        shown = [
            item for item in self.server.items if (item.state != "archived" if state == "all" else item.state == state)
        ]
        limit = int(request.query.get("limit", 20))
        more = str(start + limit) if len(shown) > start + limit else None
        return self._tagged(request, {"items": shown[start : start + limit], "next": more})

    async def counts(self, request: web.Request) -> web.Response:
        self._met(request)
        return self._tagged(request, self._counts())

    def _counts(self) -> dict[str, int]:
        server = self.server
        return {"unread": server.unread, "unseen": server.unseen, "sequence": server.sequence}

    def _tagged(self, request: web.Request, value: object) -> web.Response:
        tag = f'"{self.server.sequence}"'
        if request.headers.get("If-None-Match") == tag:
            return web.Response(status=304, headers={"ETag": tag})
        return web.Response(body=encode(value), content_type="application/json", headers={"ETag": tag})

    async def one(self, request: web.Request) -> web.Response:
        item_id, action = request.match_info["item"], request.match_info["action"]
        state: ItemState = {"read": "read", "unread": "unread", "archive": "archived"}[action]  # type: ignore[assignment]
        return self._done(request, action, item_id, state, lambda item: item.item_id == item_id, item_ids=(item_id,))

    async def all(self, request: web.Request) -> web.Response:
        up_to = (await request.json())["up_to"]
        state: ItemState = "read" if request.match_info["which"] == "read" else "seen"
        meant = lambda item: item.sequence <= up_to  # noqa: E731
        return self._done(request, f"{request.match_info['which']}-all", up_to, state, meant, all=True, up_to=up_to)

    def _done(
        self,
        request: web.Request,
        action: str,
        what: Any,
        state: ItemState,
        meant: Callable[[ItemView], bool],
        **told: Any,
    ) -> web.Response:
        self._met(request)
        self.server.commands.append((action, what))
        if self.server.command_status == 202:
            return web.json_response({"status": "pending", "command_id": "c"}, status=202)
        if self.server.command_status != 200:
            raise Problem(self.server.command_status, "refused", "the inbox is being moved")
        self.server.change(state, meant, **told)
        return web.json_response(self._counts())

    async def preferences(self, request: web.Request) -> web.Response:
        self._met(request)
        return self.server.preferences.shown()

    async def change_preferences(self, request: web.Request) -> web.Response:
        self._met(request)
        return self.server.preferences.change(await request.json(), request.headers.get("If-Match", ""))

    async def websocket(self, request: web.Request) -> web.StreamResponse:
        if "websocket" in self.server.without:
            raise web.HTTPNotFound
        said = [one.strip() for one in request.headers.get("Sec-WebSocket-Protocol", "").split(",")]
        socket = web.WebSocketResponse(protocols=("notify.v1",))
        await socket.prepare(request)
        try:
            self.server.check(next((one for one in said if one.startswith("bearer.")), "").removeprefix("bearer."))
        except Problem:
            await socket.close(code=4401)
            return socket
        async with self.server.session(request, request.query.get("after"), "websocket") as outbox:
            sending = asyncio.create_task(_send(socket, outbox))
            async for _frame in socket:
                pass
            sending.cancel()
        return socket

    async def sse(self, request: web.Request) -> web.StreamResponse:
        if "sse" in self.server.without:
            raise web.HTTPNotFound
        self._met(request)
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await answer.prepare(request)
        async with self.server.session(request, request.headers.get("Last-Event-ID"), "sse") as outbox:
            while (frame := await outbox.get()) is not None:
                data = encode(frame)
                name = json.loads(data)["type"]
                await answer.write(b"event: %b\ndata: %b\n\n" % (name.encode(), data))
        return answer


async def _send(socket: web.WebSocketResponse, outbox: Outbox) -> None:
    while (frame := await outbox.get()) is not None:
        await socket.send_str(encode(frame).decode())


@asynccontextmanager
async def an_inbox_server() -> AsyncIterator[InboxServer]:
    """On a port of its own."""
    server = InboxServer()
    server.lists_may_answer.set()

    @web.middleware
    async def network(request: web.Request, handler: Any) -> web.StreamResponse:
        if server.away and request.path.startswith("/v1/"):
            assert request.transport is not None
            request.transport.abort()
        response: web.StreamResponse = await handler(request)
        return response

    app = web.Application(middlewares=[network, problems])
    app.add_routes(Api(server).routes())
    app.add_routes(HOST_ROUTES)
    for route in Assets().routes():
        app.router.add_route(route.method, route.path, route.handler)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        server.cut()
        await runner.cleanup()
