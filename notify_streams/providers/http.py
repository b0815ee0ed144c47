"""One HTTP/1.1 session per provider: one call, and in which phase it failed.

Before the first byte of the request has left nobody knows of the message: TryLater. From then on only an answer can
tell: Unknown. What comes back is bounded, no redirect is followed, no cookie kept, and no detail holds an address, a
token or a body.
"""

import asyncio
import errno
import re
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any, Literal

import aiohttp
import msgspec
import orjson
from aiohttp.abc import AbstractStreamWriter
from yarl import URL

from notify_streams.domain.answers import Refused, TryLater, Unknown
from notify_streams.domain.http_status import accepted
from notify_streams.domain.public_ip import is_public
from notify_streams.domain.retry_after import retry_after
from notify_streams.settings import Channel, Provider, SettingsError, seconds

Network = IPv4Network | IPv6Network
BODY_BYTES = 64 * 1024
_HEADERS = {"User-Agent": "notify-streams", "Accept-Encoding": "identity"}
_ENCODED = re.compile(r"[\x21-\x7e]+")  # goes out as it is; what a URL cannot hold is quoted
_KEEP_S = 30.0  # less than what servers keep idle connections for
_NOT_PUBLIC = "the address is not one of the public internet"

About = Literal["endpoint", "provider"]
Failure = TryLater | Unknown | Refused


class Reply(msgspec.Struct, frozen=True):
    """What came back. `headers` are looked up without regard to case; `body` is at most its first 64 KiB."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def accepted(self) -> bool:
        """2xx."""
        return accepted(self.status)

    def json(self) -> dict[str, Any]:
        """The body's object; empty where it is none."""
        try:
            value = orjson.loads(self.body)
        except orjson.JSONDecodeError:
            return {}
        return value if isinstance(value, dict) else {}

    def retry_after(self, now: int) -> float | None:
        """What the header says, in seconds from `now` (ms); None where it says nothing."""
        return retry_after(self.headers.get("Retry-After"), now=now)


@dataclass(slots=True)
class Http:
    """A session that opens with its first call. `about` whom it tells if nobody can be reached.

    `guarded`: connects to addresses of the public internet only, whatever the name said when it was looked at; what
    leads elsewhere is Refused. So is, where there are `networks`, what leads into any others of ours than these.
    """

    timeout: float
    connections: int
    tls: ssl.SSLContext
    guarded: bool = False
    networks: tuple[Network, ...] = ()
    about: About = "provider"
    _session: aiohttp.ClientSession | None = field(default=None, init=False)

    @classmethod
    def of(
        cls, provider: Provider, channel: Channel, *, name: str, guarded: bool = False, about: About = "provider"
    ) -> "Http":
        """From the settings. Raises SettingsError for a `ca_file` or `private_networks` that are none."""
        tls, networks = trust(provider, name), _networks(provider, name)
        return cls(seconds(channel.attempt_timeout), channel.concurrency, tls, guarded, networks, about)

    async def post(
        self, url: str, body: bytes, headers: Mapping[str, str], *, until: float | None = None
    ) -> Reply | Failure:
        """One POST within the attempt's timeout, or `until` the loop's clock; connecting, writing and reading count."""
        request = _Body(body)
        try:
            async with asyncio.timeout_at(self.deadline() if until is None else until):
                return await self._exchange(url, request, headers)
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            return request.reply or self._failed(error, handed=request.handed)

    def deadline(self) -> float:
        """When an attempt that begins now is over, by the loop's clock."""
        return asyncio.get_running_loop().time() + self.timeout

    async def post_json(self, url: str, value: Any, headers: Mapping[str, str] = {}) -> Reply | Failure:
        """The same with a JSON body."""
        return await self.post(url, orjson.dumps(value), {"Content-Type": "application/json", **headers})

    async def close(self) -> None:
        """Let go of connections."""
        if self._session is not None:
            await self._session.close()

    async def _exchange(self, url: str, request: "_Body", headers: Mapping[str, str]) -> Reply:
        if self._session is None:
            self._session = self._opened()
        where = _url(url)
        async with self._session.post(where, data=request, headers=headers, allow_redirects=False) as response:
            request.reply = Reply(response.status, response.headers, b"")
            return msgspec.structs.replace(request.reply, body=await _beginning(response))

    def _failed(self, error: Exception, *, handed: bool) -> Failure:
        why = words(error)
        if isinstance(error, aiohttp.ClientConnectorError) and isinstance(error.os_error, _NotPublic):
            return Refused(_NOT_PUBLIC)
        if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
            return Refused("the address is no URL")
        if isinstance(error, ValueError) and not handed:  # later ones are about the answer
            return Refused("a header has characters that none can have")
        if handed:
            return Unknown(f"no answer after the request was handed over: {why}")
        return TryLater(why, about=self.about)

    def _opened(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=self.connections,
            ssl=self.tls,
            keepalive_timeout=_KEEP_S,
            socket_factory=partial(_socket, self.networks) if self.guarded or self.networks else None,
        )
        return aiohttp.ClientSession(
            connector=connector,
            headers=_HEADERS,
            skip_auto_headers=("Accept",),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(),
            auto_decompress=False,
        )


def trust(provider: Provider, name: str) -> ssl.SSLContext:
    """TLS that trusts the system's authorities and `ca_file`. Raises SettingsError naming the setting."""
    context = ssl.create_default_context()
    if provider.ca_file:
        try:
            context.load_verify_locations(provider.ca_file)
        except (OSError, ssl.SSLError) as error:
            raise SettingsError(f"providers.{name}.ca_file: no certificates in {provider.ca_file}") from error
    return context


class _Body(aiohttp.BytesPayload):
    """A request's body. `handed` turns true when it is about to be written: headers leave with it, not before.

    `reply` is there as soon as the status is: it says what became of the request, also where its body stays away.
    """

    handed = False
    reply: Reply | None = None

    def __init__(self, value: bytes) -> None:
        aiohttp.Payload.__init__(self, value, content_type="application/octet-stream")
        self._size = len(value)  # BytesPayload's own warns of bodies of more than a MiB

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        transport = writer.transport
        self.handed = transport is not None and not transport.is_closing()
        await super().write_with_length(writer, content_length)


class _NotPublic(OSError):
    """A socket that would lead into a network of ours."""

    def __init__(self) -> None:
        super().__init__(errno.EACCES, _NOT_PUBLIC)


def _url(text: str) -> URL:
    try:
        url = URL(text, encoded=_ENCODED.fullmatch(text) is not None)
        _ = url.port  # read only now
    except ValueError as error:
        raise aiohttp.InvalidURL(text) from error
    return url


def _socket(networks: tuple[Network, ...], info: tuple[Any, ...]) -> socket.socket:
    """Into the public internet, or one of these networks of ours."""
    family, type_, protocol, _, address = info
    if not is_public(address[0]) and not any(ip_address(address[0]) in network for network in networks):
        raise _NotPublic
    return socket.socket(family, type_, protocol)


def _networks(provider: Provider, name: str) -> tuple[Network, ...]:
    """Which networks of ours may be called, where `allow_private` says that any may."""
    if not provider.allow_private:
        return ()
    try:
        return tuple(ip_network(text) for text in provider.private_networks)
    except ValueError as error:
        raise SettingsError(f"providers.{name}.private_networks: {error}") from error


async def _beginning(response: aiohttp.ClientResponse) -> bytes:
    """At most 64 KiB; of a body that breaks off what came of it."""
    parts: list[bytes] = []
    size = 0
    try:
        while size < BODY_BYTES and (part := await response.content.read(BODY_BYTES - size)):
            parts.append(part)
            size += len(part)
    except (aiohttp.ClientError, OSError):
        response.close()
    if not response.content.at_eof():
        response.close()
    return b"".join(parts)


def words(error: Exception) -> str:
    """Its class and the system's name for it: texts of errors name hosts, and hosts are addresses."""
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    number = cause.errno if isinstance(cause, OSError) else None
    return f"{type(error).__name__} {errno.errorcode.get(number or 0, '')}".rstrip()
