"""Redis as the gateway uses it: asked briefly, and left alone for a moment after it did not answer."""

import asyncio
from collections.abc import Awaitable
from time import monotonic
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from notify_streams import metrics, settings
from notify_streams.ports import Unavailable

_REST_S = 1.0


class Expendable:
    """Raises Unavailable instead of whatever the client raises; callers go on without."""

    def __init__(self, client: Redis, redis: settings.Redis) -> None:
        self.client = client
        self._timeout_s = settings.seconds(redis.timeout)
        self._rests_until = 0.0

    async def ask(self, call: Awaitable[Any]) -> Any:
        """The call's answer within the timeout of the settings. Raises Unavailable."""
        try:
            async with asyncio.timeout(self._timeout_s):
                return await call
        except (RedisError, OSError, TimeoutError) as error:
            self._rests_until = monotonic() + _REST_S
            raise Unavailable(f"Redis does not answer: {error!r}") from error

    def check(self) -> None:
        """Raises Unavailable while it rests."""
        if monotonic() < self._rests_until:
            metrics.BYPASSED.labels("redis").inc()
            raise Unavailable("Redis did not answer a moment ago")
