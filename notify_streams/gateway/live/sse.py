"""GET /v1/stream/sse: a live stream as server-sent events (WHATWG HTML, section 9.2).

`event` is the frame's type, `id` its sequence, `data` the frame. What WebSocket says by a close code is a last event
`end` with code and reason. Heartbeats are comments.
"""

import asyncio
from dataclasses import dataclass
from typing import ClassVar

from aiohttp import web

from notify_streams import metrics
from notify_streams.gateway.live.connection import Connection
from notify_streams.gateway.live.entrance import Entrance, Visitor, after_of, steady
from notify_streams.gateway.live.hub import Refused
from notify_streams.gateway.live.session import Close, Pace, Session
from notify_streams.gateway.live.tickets import Tickets
from notify_streams.gateway.live.told import Told
from notify_streams.gateway.live.websocket import narrow
from notify_streams.gateway.live.wheel import now_ms
from notify_streams.gateway.problems import Problem
from notify_streams.gateway.routes import Route
from schemas.codec import encode
from schemas.frames import Bye, decode_server_frame

PATH = "/v1/stream/sse"


class SseConnection(Connection):
    """Events in chunks of HTTP/1.1, written as they come."""

    __slots__ = ("gone",)
    transport_name: ClassVar[str] = "sse"

    def attach(self) -> None:
        """`gone` is done when the stream has ended."""
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def encode(self, frames: tuple[Told, ...]) -> bytes:
        """See Connection."""
        return _chunk(b"".join([event(frame) for frame in frames]))

    def part(self, close: Close) -> None:
        """See Connection."""
        if not self._transport.is_closing():
            words = encode({"code": close.code.value, "reason": close.reason})
            self._transport.write(_chunk(b"event: end\ndata: %b\n\n" % words))
        self.lost()

    def lost(self) -> None:
        """See Connection."""
        if not self.gone.done():
            self.gone.set_result(None)


@dataclass(frozen=True, slots=True)
class Sse:
    """Streams for people whose network lets no WebSocket through."""

    entrance: Entrance
    tickets: Tickets
    pace: Pace

    def routes(self) -> tuple[Route, ...]:
        """The stream, and the tickets for it."""
        return (
            *self.tickets.routes(),
            Route(
                method="GET",
                path=PATH,
                handler=self.stream,
                summary="Live stream as server-sent events: hello, item, changed, reset, bye, end",
                who="user",
                query={
                    "after": "The last sequence that was seen; without it from now on",
                    "ticket": "From POST /v1/stream/ticket, where Authorization cannot be set",
                    "user_id": "For operators",
                },
                headers={"Last-Event-ID": "As `after`, and before it: browsers send it when they come back"},
                answers={200: "text/event-stream"},
                problems=(400, 401, 403, 429, 503),
            ),
        )

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """Until either side ends it."""
        self.entrance.check(request)
        after, visitor = after_of(request), await self._visitor(request)
        connection = self._connection(request, visitor, after)
        connection.attach()
        with metrics.CONNECTIONS.labels("sse").track_inprogress():
            try:
                return await self._serve(request, connection)
            except Refused as refused:
                raise Problem(429, "too_many_streams", refused.close.reason) from None
            finally:
                self.entrance.hub.leave(connection)

    async def _serve(self, request: web.Request, connection: SseConnection) -> web.StreamResponse:
        self.entrance.hub.admit(connection)
        headers = {"Content-Type": "text/event-stream", "X-Accel-Buffering": "no", "Cache-Control": "no-store"}
        origin = request.headers.get("Origin")
        if origin is not None:
            headers |= {"Access-Control-Allow-Origin": origin, "Vary": "Origin"}
        response = web.StreamResponse(headers=headers)
        response.force_close()
        await response.prepare(request)
        await response.write(b":\n\n")  # sends the headers; from here on the connection writes by itself
        await self.entrance.hub.begin(connection)
        await connection.gone
        return response

    async def _visitor(self, request: web.Request) -> Visitor:
        ticket = request.query.get("ticket")
        if ticket is not None:
            user = await self.tickets.take(ticket)
            return Visitor(user.user_id, steady(user.expires_at))
        try:
            return self.entrance.visitor(request)
        except Refused as refused:
            raise Problem(403, "forbidden", refused.close.reason) from None

    def _connection(self, request: web.Request, visitor: Visitor, after: int | None) -> SseConnection:
        transport = request.transport
        if transport is None:
            raise ConnectionResetError("the client went before its stream began")
        narrow(transport)
        session = Session(after, now=now_ms(), pace=self.pace, expires_at=visitor.expires_at)
        return SseConnection(visitor.user_id, session, transport, self.entrance.hub)


def event(frame: Told) -> bytes:
    """One event; a ping is a comment, and a bye sets the time after which a browser comes back."""
    if frame.type == "ping":
        return b":\n\n"
    place = b"" if frame.sequence is None else b"id: %d\n" % frame.sequence
    if frame.type == "bye":
        said = decode_server_frame(frame.payload)
        place = b"retry: %d\n" % said.reconnect_ms if isinstance(said, Bye) else b""
    return b"event: %b\n%bdata: %b\n\n" % (frame.type.encode(), place, frame.payload)


def _chunk(text: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(text), text)
