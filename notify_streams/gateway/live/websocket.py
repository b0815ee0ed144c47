"""GET /v1/stream: a live stream over WebSocket (RFC 6455).

Close codes: 1001 the gateway stops, 1003 a frame that is no text, 1007 one that is no frame of ours, 1009 one above
4 KiB, 1013 a command is not known to have been taken, 4401 no token or an invalid one, 4403 another user, 4408 no
pong, 4410 the token has expired, 4429 too slow, too many frames a second, or too many connections.
"""

import asyncio
import socket
from dataclasses import dataclass
from typing import ClassVar

import msgspec
from aiohttp import WSMsgType, web

from notify_streams import metrics
from notify_streams.gateway.live.connection import Connection, note_end
from notify_streams.gateway.live.entrance import Entrance, Visitor, after_of
from notify_streams.gateway.live.hub import Refused
from notify_streams.gateway.live.session import Close, Code, Pace, Session
from notify_streams.gateway.live.told import Told
from notify_streams.gateway.live.wheel import now_ms
from notify_streams.gateway.problems import Problem
from notify_streams.gateway.routes import Route
from schemas.frames import decode_client_frame

PATH, PROTOCOL = "/v1/stream", "notify.v1"
MAX_FRAME = 4096
_KERNEL = 64 * 1024  # of what a slow client has not read; the rest counts here
_GOODBYE_S = 5.0


class WebSocketConnection(Connection):
    """Frames are written as they are: unmasked, whole, uncompressed."""

    __slots__ = ()
    transport_name: ClassVar[str] = "websocket"

    def encode(self, frames: tuple[Told, ...]) -> bytes:
        """See Connection."""
        return b"".join([_framed(frame.payload) for frame in frames])

    def part(self, close: Close) -> None:
        """See Connection. The client reads what came before, answers, and then its handler ends."""
        if not self._transport.is_closing():
            words = close.code.to_bytes(2, "big") + close.reason.encode()
            self._transport.write(b"\x88%c%b" % (len(words), words))


@dataclass(frozen=True, slots=True)
class WebSockets:
    """Streams for people."""

    entrance: Entrance
    pace: Pace

    def routes(self) -> tuple[Route, ...]:
        """The one."""
        return (
            Route(
                method="GET",
                path=PATH,
                handler=self.stream,
                summary="Live stream over WebSocket: hello, item, changed, reset, ping, bye; read, seen, pong",
                who="user",
                query={"after": "The last sequence that was seen; without it from now on", "user_id": "For operators"},
                headers={"Sec-WebSocket-Protocol": "notify.v1, bearer.TOKEN where Authorization cannot be set"},
                answers={
                    101: "The stream. It closes with 1001 (the gateway stops), 1003, 1007, 1009 (a bad frame), 1013 (a"
                    " command is not known to have been taken), 4401 (token), 4403 (another user), 4408 (no pong), 4410"
                    " (the token has expired), 4429 (too slow or too many)"
                },
                problems=(400, 403, 503),
            ),
        )

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """Until either side ends it. Browsers cannot read the status of a refused handshake: refusals are codes."""
        self.entrance.check(request)
        after = after_of(request)
        socket_ = web.WebSocketResponse(
            protocols=(PROTOCOL,), max_msg_size=MAX_FRAME, compress=False, timeout=_GOODBYE_S
        )
        try:
            visitor = self._visitor(request)
        except Refused as refused:
            return await self._refuse(request, socket_, refused)
        await socket_.prepare(request)
        connection = self._connection(request, visitor, after)
        with metrics.CONNECTIONS.labels("websocket").track_inprogress():
            try:
                self.entrance.hub.admit(connection)
                await self.entrance.hub.begin(connection)
                await _listen(socket_, connection)
            except Refused as refused:
                note_end("websocket", refused.close.code)
                await socket_.close(code=refused.close.code, message=refused.close.reason.encode())
            finally:
                self.entrance.hub.leave(connection)
        return socket_

    def _visitor(self, request: web.Request) -> Visitor:
        try:
            return self.entrance.visitor(request)
        except Problem as problem:
            code = Code.EXPIRED if problem.body.code == "token_expired" else Code.UNAUTHORIZED
            raise Refused(code, problem.body.detail) from None

    async def _refuse(
        self, request: web.Request, socket_: web.WebSocketResponse, refused: Refused
    ) -> web.StreamResponse:
        await socket_.prepare(request)
        note_end("websocket", refused.close.code)
        await socket_.close(code=refused.close.code, message=refused.close.reason.encode())
        return socket_

    def _connection(self, request: web.Request, visitor: Visitor, after: int | None) -> WebSocketConnection:
        transport = request.transport
        if transport is None:
            raise ConnectionResetError("the client went before its stream began")
        narrow(transport)
        session = Session(after, now=now_ms(), pace=self.pace, expires_at=visitor.expires_at)
        return WebSocketConnection(visitor.user_id, session, transport, self.entrance.hub)


def narrow(transport: asyncio.Transport) -> None:
    """Let the kernel keep little of what a client does not read."""
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _KERNEL)


async def _listen(ws: web.WebSocketResponse, connection: WebSocketConnection) -> None:
    """Until the client is gone. After the close frame what it still says is read, and counts for nothing."""
    while True:
        message = await ws.receive()
        if message.type is WSMsgType.TEXT:
            _take(message.data, connection)
        elif message.type is WSMsgType.BINARY:
            connection.close(Close(Code.NOT_TEXT, "frames are text"))
        else:
            if message.type is WSMsgType.ERROR and ws.close_code is not None:
                note_end("websocket", ws.close_code)
            return


def _take(text: str, connection: WebSocketConnection) -> None:
    if connection.ended is not None:
        return
    try:
        frame = decode_client_frame(text)
    except (msgspec.MsgspecError, RecursionError):
        connection.close(Close(Code.MALFORMED, "this is no frame of the protocol"))
    else:
        connection.act(connection.session.received(frame, now_ms()))


def _framed(payload: bytes) -> bytes:
    """RFC 6455 section 5.2: one final text frame, from a server."""
    size = len(payload)
    if size < 126:
        return b"\x81%c%b" % (size, payload)
    if size < 65536:
        return b"\x81\x7e%b%b" % (size.to_bytes(2, "big"), payload)
    return b"\x81\x7f%b%b" % (size.to_bytes(8, "big"), payload)
