"""What a sender that was killed was about: the deliveries whose key in Redis says `calling`."""

from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from tests.chaos.counting import Left
from tests.system.fleet import Ended


class Calling:
    """Looks between the end of a sender and its next start; each call is told of once."""

    def __init__(self, redis: str, *senders: str) -> None:
        self._redis = Redis.from_url(redis, socket_timeout=2, socket_connect_timeout=2)
        self._senders = frozenset(senders)
        self._seen: set[tuple[str, str]] = set()
        self.left: list[Left] = []

    async def look(self, ended: Ended) -> None:
        """Before a program is started again."""
        if ended.name not in self._senders:
            return
        try:
            names = [name async for name in self._redis.scan_iter("delivery:*", count=2000)]
            values: list[Any] = await self._redis.mget(names) if names else []
        except (RedisError, OSError):
            self.left.append(Left(ended, None))
            return
        calls = {_call(name, value) for name, value in zip(names, values, strict=True) if value}
        calls = {call for call in calls if call[0]} - self._seen
        self._seen |= calls
        self.left.append(Left(ended, frozenset(delivery for delivery, _ in calls)))

    async def close(self) -> None:
        """Let go of the connection."""
        await self._redis.aclose()


def _call(name: bytes, value: bytes) -> tuple[str, str]:
    """The delivery that a key says is being called, and who calls; empty for any other key."""
    state, owner, *_ = value.decode().split("|")
    return (name.decode().partition(":")[2], owner) if state == "calling" else ("", "")
