"""One HTTP/2 connection (RFC 9113) that carries many requests at once, and knows of each how far it got.

Built on h2, because an adapter has to know what a client library keeps to itself: whether a request was written, and
which streams a GOAWAY leaves unprocessed.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

import h2.events as ev
import msgspec
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.exceptions import H2Error
from hpack import HeaderTuple
from hyperframe.frame import Frame, GoAwayFrame

# It writes every header into its lines for debugging, device and provider tokens among them.
logging.getLogger("hpack").setLevel(logging.WARNING)

BODY_BYTES = 64 * 1024
_LAST_STREAM = 2**31 - 3
_CONFIG = H2Configuration(header_encoding="utf-8", validate_outbound_headers=False, normalize_outbound_headers=False)


class Lost(ConnectionError):
    """No answer will come. `handed`: the whole request had left. `reason`: what the server said for good-bye."""

    def __init__(self, *, handed: bool, reason: str = "") -> None:
        super().__init__(reason)
        self.handed = handed
        self.reason = reason


@dataclass(eq=False)
class Exchange:
    """A request and its answer. `handed`: the whole request has been written, so that only an answer can tell."""

    headers: Sequence[HeaderTuple]
    body: bytes
    handed: bool = False
    status: int = 0
    received: dict[str, str] = field(default_factory=dict)
    content: bytes = b""
    unsent: bytes = b""
    answer: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def begin(self) -> None:
        """Anew, on another connection: nothing of it was processed."""
        self.handed, self.unsent = False, self.body
        self.answer = asyncio.get_running_loop().create_future()


class Connection(asyncio.Protocol):
    """Connected, or no longer: who is told `changed` looks again. Not before the server's settings has it room."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._h2 = _Http2(_CONFIG)
        self._exchanges: dict[int, Exchange] = {}
        self._transport: asyncio.Transport | None = None
        self._going = False
        self._reason = ""
        self._settled = False
        self.proven = False
        self.heard_at = asyncio.get_running_loop().time()

    @property
    def alive(self) -> bool:
        """Whether it takes new requests, now or when others have ended."""
        return self._transport is not None and not self._transport.is_closing() and not self._going

    @property
    def room(self) -> int:
        """How many requests it takes now, by the server's settings (RFC 9113, 5.1.2)."""
        if not self.alive or not self._settled or self._h2.outbound_flow_control_window <= 0:
            return 0
        return max(0, self._h2.remote_settings.max_concurrent_streams - len(self._exchanges))

    @property
    def idle(self) -> bool:
        """Nothing is under way."""
        return not self._exchanges

    def start(self, exchange: Exchange) -> int:
        """Write a request; only where there is `room`. Returns its stream."""
        exchange.begin()
        stream_id = self._h2.get_next_available_stream_id()
        self._h2.send_headers(stream_id, exchange.headers)
        self._exchanges[stream_id] = exchange
        self._write(stream_id, exchange)
        self._going = self._going or stream_id >= _LAST_STREAM
        self._flush()
        return stream_id

    def give_up(self, stream_id: int) -> None:
        """Nobody waits for this answer any more (RFC 9113, 5.4.2)."""
        if self._exchanges.pop(stream_id, None) is not None and self._transport and not self._transport.is_closing():
            self._h2.reset_stream(stream_id, ErrorCodes.CANCEL)
            self._flush()
            self._close_when_done()
        self._changed()

    def close(self) -> None:
        """No more requests; those under way are lost."""
        if self._transport is not None:
            self._transport.abort() if self._exchanges else self._transport.close()

    def retire(self) -> None:
        """No more requests; closed when those under way have ended."""
        self._going = True
        self._close_when_done()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Say hello (RFC 9113, 3.4)."""
        self._transport = cast(asyncio.Transport, transport)
        self._h2.initiate_connection()
        self._flush()

    def data_received(self, data: bytes) -> None:
        """Whatever comes; what is no HTTP/2 ends the connection."""
        self.heard_at = asyncio.get_running_loop().time()
        try:
            events = self._h2.receive_data(data)
            for event in events:
                self._hear(event)
        except H2Error:
            self.close()
        self._flush()
        self._close_when_done()
        self._changed()

    def connection_lost(self, exc: Exception | None) -> None:
        """None of what is under way will be answered."""
        self._transport = None
        for exchange in list(self._exchanges.values()):
            _fail(exchange, Lost(handed=exchange.handed, reason=self._reason))
        self._exchanges.clear()
        self._changed()

    def _hear(self, event: ev.Event) -> None:
        match event:
            case ev.ResponseReceived():
                self._begin(event)
            case ev.DataReceived():
                self._take(event)
            case ev.StreamEnded():
                self._end(event.stream_id)
            case ev.StreamReset():
                self._reset(event)
            case ev.RemoteSettingsChanged():
                self._settled = True
                self._write_held_back()
            case ev.WindowUpdated():
                self._write_held_back()
            case ev.ConnectionTerminated():
                self._go_away(event)

    def _begin(self, event: ev.ResponseReceived) -> None:
        exchange = self._exchanges.get(event.stream_id)
        if exchange is not None:
            exchange.received = {str(name): str(value) for name, value in event.headers}
            status = exchange.received.get(":status", "")
            exchange.status = int(status) if status.isascii() and status.isdigit() else 0

    def _take(self, event: ev.DataReceived) -> None:
        exchange = self._exchanges.get(event.stream_id)
        if exchange is not None:
            exchange.content += event.data[: BODY_BYTES - len(exchange.content)]
        self._h2.acknowledge_received_data(event.flow_controlled_length or 0, event.stream_id)

    def _end(self, stream_id: int) -> None:
        exchange = self._exchanges.pop(stream_id, None)
        if exchange is not None and not exchange.answer.done():
            self.proven = True
            exchange.answer.set_result(None)
            if not exchange.handed:
                self._h2.reset_stream(stream_id, ErrorCodes.CANCEL)

    def _reset(self, event: ev.StreamReset) -> None:
        """A refused stream was not processed (RFC 9113, 8.7)."""
        exchange = self._exchanges.pop(event.stream_id, None)
        if exchange is not None:
            _fail(exchange, Lost(handed=exchange.handed and event.error_code != ErrorCodes.REFUSED_STREAM))

    def _go_away(self, event: ev.ConnectionTerminated) -> None:
        """Streams above the last one were not processed, the others may still be answered (RFC 9113, 6.8)."""
        self._going = True
        self._reason = _reason(event.additional_data)
        for stream_id in [i for i in self._exchanges if i > (event.last_stream_id or 0)]:
            _fail(self._exchanges.pop(stream_id), Lost(handed=False, reason=self._reason))

    def _write_held_back(self) -> None:
        for stream_id, exchange in list(self._exchanges.items()):
            if not exchange.handed:
                self._write(stream_id, exchange)

    def _write(self, stream_id: int, exchange: Exchange) -> None:
        """As much of the body as flow control lets through (RFC 9113, 5.2)."""
        while exchange.unsent:
            window = min(self._h2.local_flow_control_window(stream_id), self._h2.max_outbound_frame_size)
            if window <= 0:
                return
            part, exchange.unsent = exchange.unsent[:window], exchange.unsent[window:]
            self._h2.send_data(stream_id, part, end_stream=not exchange.unsent)
        exchange.handed = True

    def _flush(self) -> None:
        data = self._h2.data_to_send()
        if data and self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def _close_when_done(self) -> None:
        if self._going and not self._exchanges and self._transport is not None:
            self._transport.close()


class _Http2(H2Connection):
    """h2, but a GOAWAY does not end what is under way: h2 takes every frame after it for an error."""

    def _receive_goaway_frame(self, frame: GoAwayFrame) -> tuple[list[Frame], list[ev.Event]]:
        event = ev.ConnectionTerminated()
        event.error_code, event.last_stream_id = frame.error_code, frame.last_stream_id
        event.additional_data = frame.additional_data or None
        return [], [event]


def _fail(exchange: Exchange, error: Lost) -> None:
    if not exchange.answer.done():
        exchange.answer.set_exception(error)


def _reason(data: bytes | None) -> str:
    """Apple's JSON in a GOAWAY; empty where there is none."""
    try:
        reason = msgspec.json.decode(data or b"", type=dict[str, msgspec.Raw]).get("reason")
        return msgspec.json.decode(reason, type=str) if reason is not None else ""
    except msgspec.DecodeError:
        return ""
