"""The APNs provider: one request per device token over HTTP/2 (Apple, "Sending notification requests to APNs")."""

import asyncio
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import msgspec
from hpack import HeaderTuple

from notify_streams import settings
from notify_streams.domain.answers import Answer, Refused, Sent, TryLater, Unknown
from notify_streams.domain.rendered import RenderedPush
from notify_streams.domain.retry_after import retry_after
from notify_streams.ports import Message
from notify_streams.providers.apns import codes, payload
from notify_streams.providers.apns.auth import ProviderTokens
from notify_streams.providers.apns.connection import Exchange, Lost
from notify_streams.providers.apns.pool import Pool
from notify_streams.providers.es256 import read_key
from notify_streams.providers.http import trust, words
from notify_streams.settings import SettingsError

DEFAULT_URL = "https://api.push.apple.com"
_WORD = re.compile(r"[A-Za-z]{1,64}")


@dataclass(frozen=True)
class ApnsProvider:
    """Implements `ports.Provider`.

    Repeatable: the collapse id is the same for every attempt, so that a device shows one notification whatever became
    of an attempt whose answer was lost. A repeat ten minutes later would come back after it was read.
    """

    pool: Pool
    tokens: ProviderTokens
    topic: str
    timeout: float
    name: str = "apns"
    repeatable: bool = True

    @classmethod
    def of(
        cls, provider: settings.Provider, channel: settings.Channel, *, name: str = "apns", public_url: str = ""
    ) -> "ApnsProvider":
        """From the settings. Raises SettingsError for a key, an id or a topic that is missing or none."""
        setting = f"providers.{name}"
        host, port = _server(provider.url or DEFAULT_URL, setting)
        key = read_key(provider.key_file, f"{setting}.key_file")
        for field in ("key_id", "team_id", "topic"):
            if not getattr(provider, field).isascii() or not getattr(provider, field).strip():
                raise SettingsError(f"{setting}.{field}: APNs cannot be called without it")
        tls = trust(provider, name)
        tls.set_alpn_protocols(["h2"])
        tokens = ProviderTokens(key, provider.key_id, provider.team_id)
        return cls(Pool(host, port, tls), tokens, provider.topic, settings.seconds(channel.attempt_timeout), name)

    def takes(self, message: Message) -> bool:
        """Push for iOS, unless the token has the form of FCM's, which hold a colon."""
        if not isinstance(message.rendered, RenderedPush) or message.address.startswith("{"):
            return False
        return message.platform == "ios" and ":" not in message.address

    async def send(self, message: Message, *, now: int) -> Answer:
        """Hand the message over. Whatever APNs or the network does is an Answer."""
        body = payload.body(message)
        if body is None:
            return Refused("the link leaves no room for a text")
        token = self.tokens.token(now)
        own = payload.headers(message, topic=self.topic, now=now)
        exchange = Exchange(self._headers(token, own), body)
        until = asyncio.get_running_loop().time() + self.timeout
        answer = await self._call(exchange, now, until)
        if exchange.status == 403 and codes.reason_of(_json(exchange)) == codes.EXPIRED_TOKEN:
            renewed = self.tokens.renewed(token, now)
            if renewed is not None:
                answer = await self._call(Exchange(self._headers(renewed, own), body), now, until)
        return answer

    async def close(self) -> None:
        """Let go of connections."""
        await self.pool.close()

    def _headers(self, token: str, own: list[HeaderTuple]) -> list[HeaderTuple]:
        authority = self.pool.host if self.pool.port == 443 else f"{self.pool.host}:{self.pool.port}"
        head = [HeaderTuple(":method", "POST"), HeaderTuple(":scheme", "https"), HeaderTuple(":authority", authority)]
        return [*head, *own, HeaderTuple("authorization", f"bearer {token}")]

    async def _call(self, exchange: Exchange, now: int, until: float) -> Answer:
        try:
            async with asyncio.timeout_at(until):
                await self._run(exchange)
        except (OSError, TimeoutError) as error:
            return _failed(error, exchange)
        return _answer(exchange, now)

    async def _run(self, exchange: Exchange) -> None:
        """Once more where the server has left it unprocessed: it was going away when the request came."""
        try:
            await self.pool.run(exchange)
        except Lost as lost:
            if lost.handed:
                raise
            await self.pool.run(exchange)


def _failed(error: OSError | TimeoutError, exchange: Exchange) -> Answer:
    handed = error.handed if isinstance(error, Lost) else exchange.handed
    said = f" {error.reason}" if isinstance(error, Lost) and _WORD.fullmatch(error.reason) else ""
    if handed:
        return Unknown(f"no answer after the request was handed over: {words(error)}{said}")
    return TryLater(words(error) + said, about="provider")


def _answer(exchange: Exchange, now: int) -> Answer:
    if exchange.status == 200:
        return Sent(exchange.received.get("apns-id"))
    if not 200 < exchange.status < 600:
        return Unknown("the answer has no status")
    wait = retry_after(exchange.received.get("retry-after"), now=now)
    return codes.meaning(exchange.status, _json(exchange), wait)


def _json(exchange: Exchange) -> dict[str, Any]:
    try:
        return msgspec.json.decode(exchange.content, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}


def _server(url: str, setting: str) -> tuple[str, int]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or 443
    except ValueError:
        host, port = None, 0
    if not host or parts.scheme != "https" or parts.path not in ("", "/"):
        raise SettingsError(f"{setting}.url: https://HOST or https://HOST:PORT is needed")
    return host, port
