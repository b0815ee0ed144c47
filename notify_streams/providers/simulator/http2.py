"""An HTTP/2 server (RFC 9113) on h2, as far as APNs needs one: requests in, answers out, many at once."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal, cast

import h2.events as ev
import msgspec
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.exceptions import H2Error
from h2.settings import SettingCodes, Settings
from hyperframe.frame import GoAwayFrame

_CONFIG = H2Configuration(client_side=False, header_encoding="utf-8")
_BODY_BYTES = 1 << 20
_WINDOW = 65_535  # at first, of each stream (RFC 9113, 6.9.2)
_RESETS = {"drop": ErrorCodes.INTERNAL_ERROR, "refuse": ErrorCodes.REFUSED_STREAM}


class Request(msgspec.Struct, frozen=True):
    """As it came; header names in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Response(msgspec.Struct, frozen=True):
    """What goes back."""

    status: int
    headers: dict[str, str] = {}
    body: bytes = b""


# Besides an answer: the stream is reset, or refused unprocessed (RFC 9113, 8.7), or the whole connection aborted.
Outcome = Response | Literal["drop", "refuse", "reset"]
Answering = Callable[[Request, "Session"], Awaitable[Outcome]]


@dataclass
class _Incoming:
    headers: dict[str, str]
    body: bytearray = field(default_factory=bytearray)


class Session(asyncio.Protocol):
    """One connection. At first it takes `streams` requests at a time, and `window` bytes of each."""

    def __init__(self, answering: Answering, *, streams: int, sessions: set["Session"], window: int = _WINDOW) -> None:
        self._answering = answering
        self._streams = streams
        self._window = window
        self._sessions = sessions
        self._h2 = H2Connection(_CONFIG)
        self._incoming: dict[int, _Incoming] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._transport: asyncio.Transport | None = None
        self._highest = 0
        self._last: int | None = None

    def let(self, streams: int) -> None:
        """From now on it takes that many requests at a time."""
        if streams != self._streams:
            self._streams = streams
            self._h2.update_settings({SettingCodes.MAX_CONCURRENT_STREAMS: streams})
            self._flush()

    def go_away(self, *, last_stream_id: int | None = None, reason: str = "") -> None:
        """Say good-bye: what is above the last stream will not be processed; what is below is still answered."""
        if self._transport is not None:
            frame = GoAwayFrame(0)
            self._last = self._highest if last_stream_id is None else last_stream_id
            frame.last_stream_id = self._last
            frame.additional_data = msgspec.json.encode({"reason": reason}) if reason else b""
            self._transport.write(frame.serialize())

    def abort(self) -> None:
        """Gone without a word."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Settings first."""
        self._transport = cast(asyncio.Transport, transport)
        self._sessions.add(self)
        first = {SettingCodes.MAX_CONCURRENT_STREAMS: self._streams, SettingCodes.INITIAL_WINDOW_SIZE: self._window}
        self._h2.local_settings = Settings(client=False, initial_values=first)
        self._h2.initiate_connection()
        self._flush()

    def data_received(self, data: bytes) -> None:
        """What is no HTTP/2 ends the connection."""
        try:
            for event in self._h2.receive_data(data):
                self._hear(event)
        except H2Error:
            self._flush()
            self.abort()
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there to be answered."""
        self._transport = None
        self._sessions.discard(self)
        for task in self._tasks:
            task.cancel()

    def _hear(self, event: ev.Event) -> None:
        match event:
            case ev.RequestReceived():
                if self._last is not None and event.stream_id > self._last:
                    return
                self._highest = max(self._highest, event.stream_id)
                headers = {str(name): str(value) for name, value in event.headers}
                self._incoming[event.stream_id] = _Incoming(headers)
            case ev.DataReceived():
                self._h2.acknowledge_received_data(event.flow_controlled_length or 0, event.stream_id)
                incoming = self._incoming.get(event.stream_id)
                if incoming is not None and len(incoming.body) < _BODY_BYTES:
                    incoming.body += event.data
            case ev.StreamEnded() if event.stream_id in self._incoming:
                task = asyncio.create_task(self._answer(event.stream_id))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            case ev.StreamReset():
                self._incoming.pop(event.stream_id, None)

    async def _answer(self, stream_id: int) -> None:
        incoming = self._incoming[stream_id]
        headers = incoming.headers
        request = Request(headers.get(":method", ""), headers.get(":path", ""), headers, bytes(incoming.body))
        outcome = await self._answering(request, self)
        if self._incoming.pop(stream_id, None) is None or self._transport is None:
            return  # the client has reset the stream, or is gone
        if outcome == "reset":
            self.abort()
        elif isinstance(outcome, str):
            self._h2.reset_stream(stream_id, _RESETS[outcome])
        else:
            self._send(stream_id, outcome)
        self._flush()

    def _send(self, stream_id: int, response: Response) -> None:
        headers = [(":status", str(response.status)), *response.headers.items()]
        self._h2.send_headers(stream_id, headers, end_stream=not response.body)
        if response.body:
            self._h2.send_data(stream_id, response.body, end_stream=True)

    def _flush(self) -> None:
        data = self._h2.data_to_send()
        if data and self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)
