"""The push part of the simulator, listening, with a log and a script to look into."""

import contextlib
import socket
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from notify_streams.providers.apns.adapter import ApnsProvider
from notify_streams.providers.fcm.adapter import FcmProvider
from notify_streams.providers.simulator import apns, fcm, webpush
from notify_streams.providers.simulator.apple import Key
from notify_streams.providers.simulator.asking import Event, Kind
from notify_streams.providers.simulator.google import Account
from notify_streams.providers.webpush.adapter import WebPushProvider
from notify_streams.providers.webpush.vapid import public_key
from notify_streams.settings import Channel, Provider
from tests.push import p256, pem, public_pem, rsa_key, service_account, written
from tests.smtp_servers import self_signed

TOPIC = "com.example.shop"


@dataclass(frozen=True)
class Tell:
    kind: Kind
    status: int = 0
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True)
class Entry:
    provider: str
    event: Event
    to: str
    answer: str
    delivery_id: str = ""
    identity: str = ""
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Kit:
    """`told` answers in turn per recipient; `entries` is what was logged. Every clock is the machine's own."""

    told: dict[str, list[Tell]] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    clock: Callable[[], float] = time.time

    @property
    def script(self) -> "Kit":
        return self

    @property
    def log(self) -> "Kit":
        return self

    def next(self, provider: str, recipient: str) -> Tell | None:
        left = self.told.get(recipient)
        return left.pop(0) if left else None

    def add(self, **entry: Any) -> None:
        self.entries.append(Entry(**entry))


@dataclass
class Simulated:
    """Where it listens, and the adapters' settings for it."""

    kit: Kit
    url: str
    apns: apns.Apns
    certificate: str
    folder: Path
    account: str = ""

    def provider(self, kind: str) -> Any:
        channel = Channel(attempt_timeout="2s")
        match kind:
            case "fcm":
                return FcmProvider.of(Provider(url=f"{self.url}/fcm", credentials_file=self.account), channel)
            case "apns":
                return ApnsProvider.of(self._apple(), channel)
            case _:
                return WebPushProvider.of(self._browsers(), channel)

    def _apple(self) -> Provider:
        return Provider(
            url=f"https://127.0.0.1:{self.apns.port}",
            ca_file=self.certificate,
            key_file=written(self.folder / "apns.p8", pem(p256())),
            key_id="KEY1234567",
            team_id="TEAM123456",
            topic=TOPIC,
        )

    def _browsers(self) -> Provider:
        return Provider(
            url=self.url,
            vapid_key_file=written(self.folder / "vapid.pem", pem(p256())),
            vapid_subject="mailto:push@example.com",
            allow_private=True,
        )


@contextlib.asynccontextmanager
async def simulated(folder: Path) -> AsyncIterator[Simulated]:
    kit, certificate = Kit(), str(self_signed(folder))
    app = web.Application()
    runner = web.AppRunner(app, access_log=None)
    listening = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    token_uri = f"{url}/fcm/token"
    account = Account("shop-1", "push@shop-1.iam.gserviceaccount.com", token_uri, public_pem(rsa_key()).decode())
    app.add_routes(fcm.routes(kit, account))
    app.add_routes(webpush.routes(kit, b"secret", application_server_key=public_key(p256())))
    await runner.setup()
    await web.SockSite(runner, listening).start()
    key = Key(public_pem(p256()).decode(), "KEY1234567", "TEAM123456", TOPIC)
    apple = await apns.start(kit, key, certificate, "127.0.0.1", 0)
    try:
        yield Simulated(kit, url, apple, certificate, folder, service_account(folder, token_uri))
    finally:
        await apple.stop()
        await runner.cleanup()


@contextlib.asynccontextmanager
async def sending(to: Simulated, kind: str) -> AsyncIterator[Any]:
    """The adapter, closed again."""
    provider = to.provider(kind)
    try:
        yield provider
    finally:
        await provider.close()
