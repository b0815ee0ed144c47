"""Builders for push: messages, keys of every kind, an HTTP/2 server that answers as it is told."""

import asyncio
import base64
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from notify_streams.domain.rendered import RenderedPush
from notify_streams.ports import Message
from notify_streams.providers.apns.adapter import ApnsProvider
from notify_streams.providers.simulator.http2 import Outcome, Request, Response, Session
from notify_streams.settings import Channel, Provider
from tests.builders import NOW
from tests.smtp_servers import self_signed

DEVICE = "0f" * 32
IDENTITY = "identity_identity-identity_iden1"
Answering = Callable[[Request, Session], Awaitable[Outcome]]


def a_push(address: str = DEVICE, **more: Any) -> Message:
    texts = {name: more.pop(name) for name in ("title", "body", "link", "image") if name in more}
    values: dict[str, Any] = {
        "delivery_id": "b0a1c2d3-0000-4000-8000-00000000000a",
        "address": address,
        "rendered": RenderedPush(**{"title": "Hello", "body": "Ann wrote", **texts}),
        "locale": "en",
        "platform": "ios",
        "category": "social",
        "expires_at": NOW + 90_000,
        "identity": IDENTITY,
        **more,
    }
    return Message(**values)


@cache
def p256() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@cache
def rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def public_pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def written(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    return str(path)


def service_account(folder: Path, token_uri: str) -> str:
    account = {
        "type": "service_account",
        "project_id": "shop-1",
        "private_key_id": "kid-1",
        "private_key": pem(rsa_key()).decode(),
        "client_email": "push@shop-1.iam.gserviceaccount.com",
        "token_uri": token_uri,
    }
    return written(folder / "service-account.json", msgspec.json.encode(account))


@dataclass(frozen=True)
class Browser:
    """One that has subscribed: what it tells the application, and the keys that it keeps."""

    endpoint: str
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    auth: bytes = b"0123456789abcdef"

    @property
    def subscription(self) -> str:
        point = self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        keys = {"p256dh": base64url(point), "auth": base64url(self.auth)}
        return msgspec.json.encode({"endpoint": self.endpoint, "expirationTime": None, "keys": keys}).decode()


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@dataclass
class Apple:
    """Answers each request by `answering`; what it got is in `requests`."""

    answering: Answering
    streams: int = 100
    window: int = 65_535
    port: int = 0
    certificate: str = ""
    requests: list[Request] = field(default_factory=list)
    sessions: set[Session] = field(default_factory=set)
    connections: int = 0
    most_at_once: int = 0
    at_once: int = 0

    def session(self) -> Session:
        self.connections += 1
        return Session(self._answer, streams=self.streams, sessions=self.sessions, window=self.window)

    async def _answer(self, request: Request, session: Session) -> Outcome:
        self.requests.append(request)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            return await self.answering(request, session)
        finally:
            self.at_once -= 1


async def accepting(request: Request, session: Session) -> Outcome:
    return Response(200, {"apns-id": request.headers["apns-id"]})


def answers(*outcomes: Outcome) -> Answering:
    """These in turn, the last one for ever."""
    left = list(outcomes)

    async def answering(request: Request, session: Session) -> Outcome:
        return left.pop(0) if len(left) > 1 else left[0]

    return answering


def refusal(status: int, reason: str, **more: Any) -> Response:
    headers = {name.replace("_", "-"): value for name, value in more.pop("headers", {}).items()}
    return Response(status, headers, msgspec.json.encode({"reason": reason, **more}))


@contextlib.asynccontextmanager
async def apple(
    folder: Path,
    answering: Answering = accepting,
    *,
    streams: int = 100,
    window: int = 65_535,
    alpn: tuple[str, ...] = ("h2",),
) -> AsyncIterator[Apple]:
    certificate = self_signed(folder)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    context.set_alpn_protocols(list(alpn))
    server = Apple(answering, streams, window, certificate=str(certificate))
    listening = await asyncio.get_running_loop().create_server(server.session, "127.0.0.1", 0, ssl=context)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        for session in list(server.sessions):
            session.abort()
        await asyncio.sleep(0.02)


def apns_settings(folder: Path, server: Apple) -> Provider:
    return Provider(
        url=f"https://127.0.0.1:{server.port}",
        ca_file=server.certificate,
        key_file=written(folder / "apns.p8", pem(p256())),
        key_id="KEY1234567",
        team_id="TEAM123456",
        topic="com.example.shop",
    )


@contextlib.asynccontextmanager
async def apns_at(server: Apple, folder: Path, *, timeout: str = "2s") -> AsyncIterator[ApnsProvider]:
    provider = ApnsProvider.of(apns_settings(folder, server), Channel(attempt_timeout=timeout))
    try:
        yield provider
    finally:
        await provider.close()
        await asyncio.sleep(0.02)
