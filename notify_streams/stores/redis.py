"""A Redis client that answers soon or says that it is away."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from redis.asyncio import BlockingConnectionPool, Redis
from redis.exceptions import RedisError

from notify_streams.ports import Unavailable
from notify_streams.settings import Redis as RedisSettings
from notify_streams.settings import seconds

T = TypeVar("T")
_REST_S = 1.0


class Expendable:
    """Calls to Redis that fail fast: after a failure nobody waits for it for a second."""

    def __init__(self, settings: RedisSettings) -> None:
        timeout = seconds(settings.timeout)
        self._timeout = 4 * timeout
        pool = BlockingConnectionPool.from_url(
            settings.url, socket_timeout=timeout, socket_connect_timeout=timeout, max_connections=8, timeout=timeout
        )
        self.client: Redis = Redis.from_pool(pool)
        self._away_until = 0.0

    @property
    def away(self) -> bool:
        """Whether the last call failed less than a second ago."""
        return time.monotonic() < self._away_until

    async def call(self, work: Callable[[Redis], Awaitable[T]]) -> T:
        """Do it, or raise Unavailable."""
        if self.away:
            raise Unavailable("redis is away")
        try:
            async with asyncio.timeout(self._timeout):
                return await work(self.client)
        except (RedisError, OSError, TimeoutError) as error:
            self._away_until = time.monotonic() + _REST_S
            raise Unavailable(f"redis: {type(error).__name__}") from error

    async def close(self) -> None:
        """Let go of connections."""
        await self.client.aclose()
