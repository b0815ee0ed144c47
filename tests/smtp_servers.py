"""SMTP servers that break off where they are told, and builders for what is sent to them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from uuid import uuid4

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from notify_streams import settings
from notify_streams.domain.rendered import RenderedEmail
from notify_streams.ports import Message
from notify_streams.providers.smtp.adapter import SmtpProvider

CLOSE = b"close"
HANG = b"hang"
_ANSWERS = {
    b"EHLO": b"250 raw",
    b"MAIL": b"250 OK",
    b"RCPT": b"250 OK",
    b"DATA": b"354 go",
    b"RSET": b"250 OK",
    b"QUIT": b"221 bye",
}


@dataclass
class RawServer:
    """Answers each command as usual unless `answers` says otherwise: a reply, CLOSE or HANG, by command.

    Beyond the commands there are `greeting`, `content` (while the mail comes in) and `end` (after its final dot).
    `once` lifts what was told after its first use. `recipients`: what RCPT gets that contains the key. `pause`: seconds
    before every answer.
    """

    answers: dict[str, bytes] = field(default_factory=dict)
    once: bool = False
    port: int = 0
    connections: int = 0
    heard: list[bytes] = field(default_factory=list)
    mails: list[bytes] = field(default_factory=list)
    recipients: dict[bytes, bytes] = field(default_factory=dict)
    pause: float = 0.0
    conversations: set[asyncio.Task[None]] = field(default_factory=set)

    def told(self, phase: str, usual: bytes) -> bytes:
        answer = self.answers.get(phase, usual)
        if self.once:
            self.answers.pop(phase, None)
        return answer

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self.conversations.add(task)
        try:
            await self._converse(reader, writer)
        except (_Closed, ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            writer.close()
            self.conversations.discard(task)

    async def stop(self) -> None:
        for task in self.conversations:
            task.cancel()
        await asyncio.gather(*self.conversations, return_exceptions=True)
        await asyncio.sleep(0.01)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._say(writer, self.told("greeting", b"220 raw"))
        while line := await reader.readline():
            command = line[:4].upper()
            self.heard.append(line.strip())
            refused = (answer for part, answer in self.recipients.items() if command == b"RCPT" and part in line)
            await self._say(
                writer, next(refused, self.told(command.decode(), _ANSWERS.get(command, b"500 5.5.1 what?")))
            )
            if command == b"DATA" and "DATA" not in self.answers:
                await self._content(reader, writer)

    async def _content(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if told := self.told("content", b""):
            await self._say(writer, told)
        self.mails.append(await reader.readuntil(b"\r\n.\r\n"))
        await self._say(writer, self.told("end", b"250 2.0.0 taken"))

    async def _say(self, writer: asyncio.StreamWriter, answer: bytes) -> None:
        if answer == CLOSE:
            raise _Closed
        if answer == HANG:
            await asyncio.sleep(30)
        await asyncio.sleep(self.pause)
        writer.write(answer + b"\r\n")
        await writer.drain()


class _Closed(Exception):
    """As told."""


@contextlib.asynccontextmanager
async def raw_server(
    answers: dict[str, bytes] | None = None,
    *,
    once: bool = False,
    recipients: dict[bytes, bytes] | None = None,
    pause: float = 0.0,
) -> AsyncIterator[RawServer]:
    server = RawServer(dict(answers or {}), once, recipients=recipients or {}, pause=pause)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, backlog=512)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        await server.stop()


@contextlib.asynccontextmanager
async def provider_at(
    port: int, *, concurrency: int = 4, timeout: str = "5s", **more: str
) -> AsyncIterator[SmtpProvider]:
    where = settings.Provider(url=f"smtp://127.0.0.1:{port}", **more)  # type: ignore[arg-type]
    channel = settings.Channel(concurrency=concurrency, attempt_timeout=timeout)
    provider = SmtpProvider.of(where, channel, name="smtp", public_url="")
    try:
        yield provider
    finally:
        await provider.close()


def a_mail(address: str = "ann@example.com", *, html: str = "<p>Hello</p>", subject: str = "Hello") -> Message:
    return Message(
        delivery_id=str(uuid4()),
        address=address,
        rendered=RenderedEmail(subject, "Hello\n.\n..\nBye", html),
        locale="en",
    )


def self_signed(folder: Path) -> Path:
    """A certificate for 127.0.0.1 with its key, in one PEM file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))])
    authority = x509.BasicConstraints(ca=True, path_length=None)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(address, critical=False)
        .add_extension(authority, critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + certificate.public_bytes(Encoding.PEM)
    path = folder / "server.pem"
    path.write_bytes(pem)
    return path
