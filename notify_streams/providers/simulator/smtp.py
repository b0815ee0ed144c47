"""The SMTP side: aiosmtpd, with the two things replaced that make it slow: line-wise reading and address parsing."""

import asyncio
import re
from typing import Any, cast

from aiosmtpd.smtp import SMTP, Envelope, Session

from notify_streams.providers.simulator.log import Event, Log
from notify_streams.providers.simulator.script import Reply, Script

_PATH = re.compile(r"<([^<>\s]*)>\s*(.*)")
_LARGEST = 4 * 1024 * 1024
_END = b"\r\n.\r\n"
_TAKEN = Reply("data")


class Server(SMTP):
    """One connection."""

    line_length_limit = _LARGEST

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

    async def handle_RCPT(
        self, server: Server, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """A script's answer, or 250."""
        reply = self._script.at_rcpt(address) or Reply("rcpt", 250, "2.1.5 OK")
        if reply.seconds:
            await asyncio.sleep(reply.seconds)
        if reply.code < 300:
            envelope.rcpt_tos.append(address)
            return reply.line
        return self._logged("refused", "rcpt", address, reply.line)

    async def handle_DATA(self, server: Server, session: Session, envelope: Envelope) -> str | None:
        """A script's answer, none at all with the connection closed, or 250."""
        to, content = ", ".join(envelope.rcpt_tos), cast(bytes, envelope.content)
        reply = self._script.at_end(envelope.rcpt_tos[0]) or _TAKEN
        if reply.seconds:
            await asyncio.sleep(reply.seconds)
        if reply.stage == "drop":
            self._logged("dropped", "data", to, "", content)
            cast(asyncio.Transport, server.transport).abort()
            return None
        line = _TAKEN.line if reply.stage == "delay" else reply.line
        return self._logged("accepted" if line[0] == "2" else "refused", "data", to, line, content)

    def _logged(self, event: Event, stage: str, to: str, answer: str, content: bytes | None = None) -> str:
        try:
            self._log.add(event, stage, to, answer, content)
        except OSError as error:
            return f"451 4.3.0 The simulator's log cannot be written: {error.strerror or error}"
        return answer


async def listen(host: str, port: int, script: Script, log: Log) -> asyncio.Server:
    """Accept connections. Raises OSError when the port is taken."""
    loop = asyncio.get_running_loop()
    answers = Answers(script, log)

    def protocol() -> Any:
        return Server(
            answers,
            hostname="simulator",
            ident="notify-streams",
            data_size_limit=_LARGEST,
            enable_SMTPUTF8=True,
            loop=loop,
        )

    return await loop.create_server(protocol, host, port, backlog=512)
