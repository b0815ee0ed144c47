"""The SMTP side: aiosmtpd, with the two things replaced that make it slow: line-wise reading and address parsing."""

import asyncio
import re
from typing import cast

from aiosmtpd.smtp import SMTP, Envelope, Session

from notify_streams.providers.simulator.followed import answering
from notify_streams.providers.simulator.log import Event, Log
from notify_streams.providers.simulator.script import Reply, Script

_PATH = re.compile(r"<([^<>\s]*)>\s*(.*)")
_LARGEST = 4 * 1024 * 1024
_END = b"\r\n.\r\n"
_TAKEN = Reply("data")
_HANG_S = 3600.0


class Server(SMTP):
    """One connection."""

    line_length_limit = _LARGEST

    def __init__(self, answers: "Answers", open: set["Server"], loop: asyncio.AbstractEventLoop) -> None:
        self._open = open
        super().__init__(
            answers, data_size_limit=_LARGEST, enable_SMTPUTF8=True, hostname="simulator", ident="notify", loop=loop
        )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Counted as open from here on."""
        self._open.add(self)
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        """No longer open."""
        self._open.discard(self)
        super().connection_lost(error)

    def abort(self) -> None:
        """Close it without another word."""
        if self.transport is not None:
            cast(asyncio.Transport, self.transport).abort()

    def _getaddr(self, arg: str) -> tuple[str | None, str | None]:
        found = _PATH.match(arg.strip())
        return (found[1], found[2]) if found else (None, None)

    async def smtp_DATA(self, arg: str | None) -> None:
        """The mail up to its final dot, and the answer to it."""
        envelope = cast(Envelope, self.envelope)
        if not envelope.rcpt_tos:
            await self.push("503 5.5.1 RCPT first")
            return
        await self.push("354 End data with <CR><LF>.<CR><LF>")
        content = await self._content()
        if content is None:
            status = f"552 5.3.4 More than {_LARGEST} bytes"
        else:
            envelope.content = content
            status = await self._call_handler_hook("DATA")
        self.envelope = self._create_envelope()
        if status:
            await self.push(status)

    async def _content(self) -> bytes | None:
        """None for a mail that is too large; it is read to its end all the same (RFC 5321, 4.2.5)."""
        read = bytearray(b"\r\n")  # so that an empty mail ends like any other
        too_large = False
        while not read.endswith(_END):
            try:
                read += await self._reader.readuntil(b".\r\n")
            except asyncio.LimitOverrunError as error:
                read += await self._reader.readexactly(error.consumed)
            if len(read) > _LARGEST:
                too_large = True
                del read[: -len(_END)]
        return None if too_large else bytes(read[:-3]).replace(b"\r\n.", b"\r\n")[2:]


class Answers:
    """The hooks that aiosmtpd asks: each answer is in the log before it is on the wire."""

    def __init__(self, script: Script, log: Log) -> None:
        self._script = script
        self._log = log

    async def handle_MAIL(
        self, server: Server, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """Always 250; in slow weather every reply is slow."""
        await asyncio.sleep(self._script.latency("smtp"))
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 2.1.0 OK"

    async def handle_RCPT(
        self, server: Server, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """A script's answer, or 250."""
        with answering():
            return await self._at_rcpt(envelope, address)

    async def _at_rcpt(self, envelope: Envelope, address: str) -> str:
        reply = self._script.at_rcpt(address) or Reply("rcpt", 250, "2.1.5 OK", seconds=self._script.latency("smtp"))
        if reply.seconds:
            await asyncio.sleep(reply.seconds)
        if reply.code < 300:
            envelope.rcpt_tos.append(address)
            return reply.line
        return self._logged("refused", "rcpt", address, reply.line)

    async def handle_DATA(self, server: Server, session: Session, envelope: Envelope) -> str | None:
        """A script's answer, none at all with the connection closed, or 250."""
        with answering():
            return await self._at_end(server, envelope)

    async def _at_end(self, server: Server, envelope: Envelope) -> str | None:
        to, content = ", ".join(envelope.rcpt_tos), cast(bytes, envelope.content)
        reply = self._script.at_end(envelope.rcpt_tos[0]) or _TAKEN
        if reply.seconds:
            await asyncio.sleep(reply.seconds)
        if reply.kind in ("drop", "reset", "hang"):
            self._logged("dropped", "data", to, "", content)
            if reply.kind == "hang":
                await asyncio.sleep(_HANG_S)
            server.abort()
            return None
        line = _TAKEN.line if reply.stage == "delay" else reply.line
        return self._logged("accepted" if line[0] == "2" else "refused", "data", to, line, content)

    def _logged(self, event: Event, stage: str, to: str, answer: str, content: bytes | None = None) -> str:
        try:
            self._log.add(provider="smtp", event=event, stage=stage, to=to, answer=answer, content=content)
        except OSError as error:
            return f"451 4.3.0 The simulator's log cannot be written: {error.strerror or error}"
        return answer


class Listener:
    """Where mails come in: the port, and the connections that are open."""

    def __init__(self, script: Script, log: Log) -> None:
        self._answers = Answers(script, log)
        self._open: set[Server] = set()
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> None:
        """Raises OSError when the port is taken."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Server(self._answers, self._open, loop), host, port, backlog=512
        )

    @property
    def port(self) -> int:
        """The one it really got."""
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def serving(self) -> bool:
        """Whether mails are taken."""
        return self._server is not None and self._server.is_serving()

    async def close(self) -> None:
        """Take no more mails, and leave who is in the middle of one without an answer."""
        if self._server is not None:
            self._server.close()
        for connection in tuple(self._open):
            connection.abort()
        while self._open:  # noqa: ASYNC110 -- a turn or two of the loop, on the way out
            await asyncio.sleep(0)
