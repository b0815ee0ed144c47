"""What has to be fetched for Amazon SNS: its certificates, and the URL that confirms a subscription."""

import asyncio
from collections import OrderedDict
from time import monotonic
from typing import Protocol

import aiohttp
from cryptography.x509 import Certificate

from notify_streams.gateway.receipts.sns import certificate_of
from notify_streams.ports import Unavailable

_TIMEOUT_S = 5.0
_MOST_BYTES = 64 * 1024
_KEPT, _KEPT_S, _ABSENT_S = 32, 24 * 3600.0, 60.0
_AT_ONCE, _WAITING = 4, 50


class Sns(Protocol):
    """Asked only for URLs that `sns` allows."""

    async def certificate(self, url: str) -> Certificate | None:
        """None where there is none. Raises Unavailable where nobody can say."""

    async def confirm(self, url: str) -> bool:
        """Whether it was taken. Raises Unavailable."""


class HttpSns:
    """By HTTP, without redirects; certificates are kept for a day, and that there is none for a minute."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None
        self._kept: OrderedDict[str, tuple[float, Certificate | None]] = OrderedDict()
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._waiting = 0

    async def certificate(self, url: str) -> Certificate | None:
        """See Sns."""
        if self._is_kept(url):  # never behind those that strangers have fetched
            return self._kept[url][1]
        if self._waiting >= _WAITING:  # whoever posts here may be anybody: Amazon comes again
            raise Unavailable("too many certificates are being fetched")
        self._waiting += 1
        try:
            return await self._fetched(url)
        finally:
            self._waiting -= 1

    async def _fetched(self, url: str) -> Certificate | None:
        async with self._room:
            if self._is_kept(url):
                return self._kept[url][1]
            status, body = await self._get(url)
            found = certificate_of(body) if status == 200 else None
            self._kept[url] = monotonic() + (_ABSENT_S if found is None else _KEPT_S), found
            self._kept.move_to_end(url)
            while len(self._kept) > _KEPT:
                self._forget_one()
            return found

    def _forget_one(self) -> None:
        """What is absent first: anybody can name any number of these."""
        absent = next((url for url, (_, found) in self._kept.items() if found is None), None)
        del self._kept[absent or next(iter(self._kept))]

    def _is_kept(self, url: str) -> bool:
        until, _ = self._kept.get(url, (0.0, None))
        return monotonic() < until

    async def confirm(self, url: str) -> bool:
        """See Sns."""
        async with self._room:
            status, _ = await self._get(url)
            return status == 200

    async def close(self) -> None:
        """Let go of connections."""
        if self._session is not None:
            await self._session.close()

    async def _get(self, url: str) -> tuple[int, bytes]:
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=_TIMEOUT_S)
            self._session = aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar())
        try:
            async with self._session.get(url, allow_redirects=False) as response:
                body = await response.content.read(_MOST_BYTES)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise Unavailable(f"Amazon SNS does not answer: {type(error).__name__}") from None
        if response.status >= 500:
            raise Unavailable(f"Amazon SNS answers {response.status}")
        return response.status, body
