"""One mail over one connection, command by command, and in which phase it ended (RFC 5321, 3.3)."""

import asyncio
import ssl
from typing import cast

import aiosmtplib

from notify_streams.domain.answers import Answer, Misconfigured, Refused, Sent, TryLater, Unknown
from notify_streams.providers.smtp.codes import CLOSING, START_INPUT, accepted, masked, meaning
from notify_streams.providers.smtp.payload import Envelope

_DRAIN_S = 0.002


class Stale(ConnectionError):
    """A kept connection that the server had given up: it heard nothing of the mail."""


class Conversation:
    """Says one mail. `handed` turns true when the final dot has been sent: from there on only an answer can tell."""

    def __init__(self, envelope: Envelope) -> None:
        self._envelope = envelope
        self.handed = False

    async def run(self, client: aiosmtplib.SMTP, *, kept: bool, clean: bool) -> Answer:
        """Raises Stale for a kept connection that ended before MAIL was answered, else what aiosmtplib raises.

        `clean`: the last mail over this connection was taken, so nothing of it is left to reset.
        """
        to = self._envelope.to
        international = not to.isascii()
        if international and not client.supports_extension("smtputf8"):
            return Refused("the server takes no address beyond ASCII (RFC 6531)")
        reply = await self._opening(client, b" SMTPUTF8" if international else b"", kept, clean)
        if not accepted(reply.code):
            return meaning("mail", reply.code, reply.message)
        reply = await client.execute_command(b"RCPT TO:<" + to.encode() + b">", timeout=None)
        if not accepted(reply.code):
            return meaning("rcpt", reply.code, reply.message)
        reply = await client.execute_command(b"DATA", timeout=None)
        if reply.code != START_INPUT:
            return meaning("data", reply.code, reply.message)
        return await self._transfer(client)

    def interrupted(self, error: Exception) -> Answer:
        """What it means that the conversation did not come to its end."""
        words = masked(f"{type(error).__name__}: {error}")
        if self.handed:
            return Unknown(f"no answer after the mail was handed over: {words}")
        if isinstance(error, aiosmtplib.SMTPResponseException):
            return meaning("connect", error.code, error.message)
        if _is_about_us(error):
            return Misconfigured(words)
        return TryLater(words, about="provider")

    async def _opening(
        self, client: aiosmtplib.SMTP, options: bytes, kept: bool, clean: bool
    ) -> aiosmtplib.SMTPResponse:
        try:
            if not clean and not accepted((await client.execute_command(b"RSET", timeout=None)).code):
                raise Stale
            command = b"MAIL FROM:<" + self._envelope.sender.encode() + b">" + options
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
        protocol.write(self._envelope.content)
        while transport.get_write_buffer_size():  # noqa: ASYNC110 -- transports have no event for an empty buffer
            await asyncio.sleep(_DRAIN_S)
        protocol.write(b".\r\n")
        self.handed = True
        reply = await protocol.read_response()
        return Sent() if accepted(reply.code) else meaning("end", reply.code, reply.message)


def _is_about_us(error: Exception) -> bool:
    """A server that offers no STARTTLS or AUTH where the settings ask for it, or whose certificate nobody vouches for.

    aiosmtplib has no class for the first two: it raises its base class for them, and for nothing else while connecting.
    """
    causes = (error, error.__cause__, error.__context__)
    return type(error) is aiosmtplib.SMTPException or any(isinstance(c, ssl.SSLCertVerificationError) for c in causes)
