"""The live stream put together, and its life beside the gateway's."""

import os
import socket
from collections.abc import AsyncIterator
from uuid import uuid4

from aiohttp import web

from notify_streams.gateway.auth import Auth
from notify_streams.gateway.inbox_cache import Asks, InboxCache
from notify_streams.gateway.live.channels import Channels
from notify_streams.gateway.live.entrance import Entrance
from notify_streams.gateway.live.hub import Hub, pace_of
from notify_streams.gateway.live.lookup import Lookup
from notify_streams.gateway.live.orders import Orders
from notify_streams.gateway.live.registry import Registry
from notify_streams.gateway.live.sse import Sse
from notify_streams.gateway.live.tickets import Tickets
from notify_streams.gateway.live.websocket import WebSockets
from notify_streams.gateway.publisher import Publisher
from notify_streams.gateway.routes import Route
from notify_streams.ports import InboxStore
from notify_streams.settings import Settings
from notify_streams.stores.inbox_keys import InboxKeys


class Live:
    """`run` goes into the application's cleanup contexts, `drain` to what it does on shutdown."""

    def __init__(
        self, settings: Settings, *, auth: Auth, redis: Asks, cache: InboxCache, store: InboxStore, publisher: Publisher
    ) -> None:
        keys = InboxKeys.of(settings.kafka)
        self.registry = Registry(redis, keys, f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}")
        lookup = Lookup(redis, keys, cache, store)
        self.hub = Hub(settings.gateway, keys, lookup, self.registry, Orders(publisher))
        self._channels = Channels(settings.redis, self.hub.heard, self.hub.restored)
        entrance, rate = Entrance(auth, self.hub, settings.gateway), settings.limits.inbox_commands
        self._sockets = WebSockets(entrance, pace_of(settings.gateway, rate, pongs=True))
        self._events = Sse(entrance, Tickets(auth, redis, keys), pace_of(settings.gateway, rate, pongs=False))

    def routes(self) -> tuple[Route, ...]:
        """WebSocket, SSE, and its tickets."""
        return (*self._sockets.routes(), *self._events.routes())

    async def run(self, _app: web.Application) -> AsyncIterator[None]:
        """Subscriptions and clocks."""
        self._channels.start()
        self.hub.start(self._channels)
        yield
        await self.hub.close()
        await self._channels.close()

    async def drain(self, _app: web.Application) -> None:
        """Send everybody to another gateway."""
        await self.hub.drain()
