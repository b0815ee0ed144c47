"""Which gateways have a connection of a user: known for some minutes after it was last said."""

import time
from dataclasses import dataclass

from notify_streams.gateway.inbox_cache import Asks
from notify_streams.ports import Unavailable
from notify_streams.stores.inbox_keys import InboxKeys

KNOWN_S = 300


@dataclass(frozen=True, slots=True)
class Registry:
    """Expendable, and bounded: a key per connected user, which forgets itself. A gateway that dies is forgotten too."""

    redis: Asks
    keys: InboxKeys
    gateway: str

    async def here(self, user_id: str) -> None:
        """This gateway has a connection of theirs."""
        key, until = self.keys.online(user_id).encode(), b"%d" % (time.time() + KNOWN_S)
        await self._say((b"ZADD", key, until, self.gateway.encode()), (b"EXPIRE", key, b"%d" % KNOWN_S))

    async def gone(self, user_id: str) -> None:
        """It has none any more."""
        await self._say((b"ZREM", self.keys.online(user_id).encode(), self.gateway.encode()))

    async def gateways(self, user_id: str) -> frozenset[str]:
        """Those that have one. Raises Unavailable."""
        asked = (b"ZRANGEBYSCORE", self.keys.online(user_id).encode(), b"(%d" % time.time(), b"+inf")
        [found] = await self.redis.ask(asked)
        return frozenset(name.decode() for name in found)

    async def _say(self, *commands: tuple[bytes, ...]) -> None:
        try:
            await self.redis.ask(*commands)
        except Unavailable:
            return  # counted where it was asked; it is said again
