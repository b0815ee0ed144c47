"""One mail over one connection, command by command, and in which phase it ended (RFC 5321, 3.3)."""

import asyncio
from typing import cast

import aiosmtplib

from notify_streams.domain.answers import Answer, Refused, Sent, TryLater, Unknown
from notify_streams.providers.smtp.codes import CLOSING, START_INPUT, accepted, meaning

_DRAIN_S = 0.002
_DETAIL = 200


class Stale(ConnectionError):
    """A kept connection that the server had given up: it heard nothing of the mail."""


class Conversation:
    """Says one mail. `handed` turns true when the final dot has been sent: from there on only an answer can tell."""

    def __init__(self, sender: str, to: str, content: bytes) -> None:
        self._sender = sender
        self._to = to
        self._content = (b"." + content if content.startswith(b".") else content).replace(b"\r\n.", b"\r\n..")
        self.handed = False

    async def run(self, client: aiosmtplib.SMTP, *, kept: bool, clean: bool) -> Answer:
        """Raises Stale for a kept connection that ended before MAIL was answered, else what aiosmtplib raises.

        `clean`: the last mail over this connection was taken, so nothing of it is left to reset.
        """
        international = not self._to.isascii()
        if international and not client.supports_extension("smtputf8"):
            return Refused("the server takes no address beyond ASCII (RFC 6531)")
        reply = await self._opening(client, b" SMTPUTF8" if international else b"", kept, clean)
        if not accepted(reply.code):
            return meaning("mail", reply.code, reply.message)
        reply = await client.execute_command(b"RCPT TO:<" + self._to.encode() + b">", timeout=None)
        if not accepted(reply.code):
            return meaning("rcpt", reply.code, reply.message)
        reply = await client.execute_command(b"DATA", timeout=None)
        if reply.code != START_INPUT:
            return meaning("data", reply.code, reply.message)
        return await self._transfer(client)

    def interrupted(self, error: Exception) -> Answer:
        """What it means that the conversation did not come to its end."""
        words = f"{type(error).__name__}: {' '.join(str(error).split())}"[:_DETAIL]
        if self.handed:
            return Unknown(f"no answer after the mail was handed over: {words}")
        if isinstance(error, aiosmtplib.SMTPResponseException):
            return meaning("connect", error.code, error.message)
        return TryLater(words)

    async def _opening(
        self, client: aiosmtplib.SMTP, options: bytes, kept: bool, clean: bool
    ) -> aiosmtplib.SMTPResponse:
        try:
            if not clean and not accepted((await client.execute_command(b"RSET", timeout=None)).code):
                raise Stale
            command = b"MAIL FROM:<" + self._sender.encode() + b">" + options
            reply = await client.execute_command(command, timeout=None)
        except (aiosmtplib.SMTPException, OSError) as error:
            if kept:
                raise Stale from error
            raise
        if kept and reply.code == CLOSING:
            raise Stale
        return reply

    async def _transfer(self, client: aiosmtplib.SMTP) -> Answer:
        """The dot goes out only after all before it has left this process, so that `handed` is exact."""
        protocol = client.protocol
        if protocol is None:
            raise aiosmtplib.SMTPServerDisconnected("connection lost")
        transport = cast(asyncio.WriteTransport, protocol.transport)
        protocol.write(self._content)
        while transport.get_write_buffer_size():  # noqa: ASYNC110 -- transports have no event for an empty buffer
            await asyncio.sleep(_DRAIN_S)
        protocol.write(b".\r\n")
        self.handed = True
        reply = await protocol.read_response()
        return Sent() if accepted(reply.code) else meaning("end", reply.code, reply.message)
