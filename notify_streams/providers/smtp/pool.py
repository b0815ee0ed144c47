"""Connections to one SMTP server: opened when needed, kept open, at most so many at a time."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import urlsplit

import aiosmtplib

from notify_streams.providers.http import trust
from notify_streams.settings import Provider, SettingsError

_PORTS = {"smtp": 25, "smtps": 465}
_GOODBYE_S = 1.0
_IDLE_S = 60.0  # after some minutes a middlebox has forgotten it without a word, and the next mail would wait in vain


class Connection(NamedTuple):
    """A client that is connected; `clean` where no half-told mail is to be reset. `kept_at` by the pool's clock (s)."""

    client: aiosmtplib.SMTP
    clean: bool = True
    kept_at: float = 0.0


class Pool:
    """Holds the connections that nobody uses just now. Whoever holds one of the `slots` may take or open one."""

    def __init__(
        self, client: Callable[[], aiosmtplib.SMTP], size: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client, self._clock = client, clock
        self._idle: list[Connection] = []
        self._hostname: str | None = None  # looked up once: it may take the resolver seconds
        self.slots = asyncio.Semaphore(size)

    def kept(self) -> Connection | None:
        """One that is still open, the last used first; what nobody has used for a minute is let go."""
        while self._idle:
            connection = self._idle.pop()
            if self._clock() - connection.kept_at > _IDLE_S:
                connection.client.close()
            elif connection.client.is_connected:
                return connection
        return None

    async def opened(self) -> Connection:
        """A new one, greeted, encrypted and logged in as the settings say. Raises what aiosmtplib raises."""
        client = self._client()
        try:
            await client.connect(local_hostname=self._hostname)
            self._hostname = client.local_hostname
            if client.is_ehlo_or_helo_needed:
                await client.ehlo()
        except BaseException:
            client.close()
            raise
        return Connection(client)

    def keep(self, connection: Connection) -> None:
        """For the next mail."""
        if connection.client.is_connected:
            self._idle.append(connection._replace(kept_at=self._clock()))

    async def close(self) -> None:
        """Say goodbye on all that are kept; one that does not answer is dropped."""
        idle, self._idle = self._idle, []
        await asyncio.gather(*(_goodbye(connection.client) for connection in idle))


def client_of(provider: Provider, name: str, timeout: float) -> Callable[[], aiosmtplib.SMTP]:
    """How to reach the provider. Raises SettingsError for an address that is none, or half of the credentials.

    With credentials, `starttls = "auto"` means always: a password never travels in the clear unless "never" says so.
    """
    scheme, host, port = _where(provider.url, f"providers.{name}.url")
    for have, lacks in (("username", "password"), ("password", "username")):
        if getattr(provider, have) and not getattr(provider, lacks):
            raise SettingsError(f"providers.{name}.{lacks}: is missing, and {have} is there")
    start_tls = {"never": False, "always": True, "auto": True if provider.username else None}[provider.starttls]
    tls = trust(provider, name)

    def client() -> aiosmtplib.SMTP:
        return aiosmtplib.SMTP(
            hostname=host,
            port=port,
            username=provider.username or None,
            password=provider.password or None,
            use_tls=scheme == "smtps",
            start_tls=False if scheme == "smtps" else start_tls,
            tls_context=tls,
            timeout=timeout,
        )

    return client


def _where(address: str, setting: str) -> tuple[str, str, int]:
    """Scheme, host and port."""
    try:
        url = urlsplit(address)
        host, port = url.hostname, url.port
    except ValueError:
        host = port = None
    if not host or url.scheme not in _PORTS or url.username is not None:
        raise SettingsError(f"{setting}: expected an address such as smtp://mail.example:587, without credentials")
    return url.scheme, host, port or _PORTS[url.scheme]


async def _goodbye(client: aiosmtplib.SMTP) -> None:
    with contextlib.suppress(aiosmtplib.SMTPException, OSError, TimeoutError):
        await client.quit(timeout=_GOODBYE_S)
    client.close()
