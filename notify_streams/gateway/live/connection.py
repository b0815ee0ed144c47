"""A session on a socket: what it wants sent goes out at once, or the connection ends."""

import asyncio
import logging
from typing import ClassVar, Protocol

from notify_streams import metrics
from notify_streams.gateway.live.session import Acts, Ask, Close, Code, Command, Send, Session
from notify_streams.gateway.live.told import Change, Reading, Told
from notify_streams.gateway.live.wheel import now_ms

log = logging.getLogger(__name__)
_LINGERS_S = 30.0  # for a slow reader to come to the close frame


class Around(Protocol):
    """What a connection needs of its gateway."""

    buffer: int

    def ask(self, connection: "Connection", after: int | None) -> None:
        """Look, and tell it by `read` or `unread`."""

    def command(self, connection: "Connection", command: Command) -> None:
        """Put it on the log."""

    def sleep(self, connection: "Connection") -> None:
        """Wake it when it says."""

    def leave(self, connection: "Connection") -> None:
        """It is told nothing any more."""


def note_end(transport: str, code: int) -> None:
    """Count and log that the gateway ended a stream."""
    metrics.STREAMS_ENDED.labels(transport, code).inc()
    log.info("stream.ended transport=%s code=%d", transport, code)


class Connection:
    """No task and no queue of its own: what a client does not read stays in the transport, up to a bound."""

    __slots__ = ("_around", "_set_for", "_transport", "ended", "session", "user_id")
    transport_name: ClassVar[str] = ""

    def __init__(self, user_id: str, session: Session, transport: asyncio.Transport, around: Around) -> None:
        self.user_id, self.session, self._transport, self._around = user_id, session, transport, around
        self.ended: Close | None = None
        self._set_for = 0

    @property
    def wakes_at(self) -> int:
        """See Sleeper."""
        return self._set_for

    def wake(self, now: int) -> None:
        """See Sleeper."""
        if self.ended is None and self._transport.is_closing():
            self.lost()
        elif self.ended is None:
            if now >= self.session.wakes_at:
                self.act(self.session.tick(now))
            if now >= self._set_for:
                self._set_for = 0
            self._sleep()

    def heard(self, change: Change) -> None:
        """Something came on the user's channel."""
        if self.ended is None:
            self.act(self.session.heard(change, now_ms()))
            self._sleep()

    def read(self, reading: Reading | None) -> None:
        """Somebody looked, or could not."""
        if self.ended is None:
            now = now_ms()
            self.act(self.session.unread(now) if reading is None else self.session.read(reading, now))
            self._sleep()

    def interrupted(self) -> None:
        """Something may have been missed."""
        if self.ended is None:
            self.act(self.session.interrupted())

    def act(self, acts: Acts) -> None:
        """Do as the session says."""
        for act in acts:
            match act:
                case Send(frames):
                    self._send(frames)
                case Ask(after):
                    self._around.ask(self, after)
                case Command():
                    self._around.command(self, act)
                case Close():
                    self.close(act)

    def close(self, close: Close) -> None:
        """End it from our side; once."""
        if self.ended is None:
            self.ended = close
            note_end(self.transport_name, close.code)
            self.part(close)
            self._around.leave(self)
            asyncio.get_running_loop().call_later(_LINGERS_S, self._transport.abort)

    def encode(self, frames: tuple[Told, ...]) -> bytes:
        """As they go over this transport."""
        raise NotImplementedError

    def part(self, close: Close) -> None:
        """Say so to the client, and let its handler end."""
        raise NotImplementedError

    def lost(self) -> None:
        """The client is gone without a word."""

    def _send(self, frames: tuple[Told, ...]) -> None:
        if self.ended is not None or self._transport.is_closing():
            return
        if self._transport.get_write_buffer_size() > self._around.buffer:
            self.close(Close(Code.TOO_MUCH, "what was sent is not read fast enough"))
            return
        if any(frame.type == "reset" for frame in frames):
            metrics.STREAM_RESETS.inc()
        self._transport.write(self.encode(frames))

    def _sleep(self) -> None:
        """An alarm that is set for earlier does as well: it sets the next one."""
        at = self.session.wakes_at
        if self._set_for == 0 or at < self._set_for:
            self._set_for = at
            self._around.sleep(self)
