"""All live connections of this process: who hears what, who is looked up when, how many there may be, how they end."""

import asyncio
import logging
import random
from collections.abc import Coroutine
from typing import Any, Protocol

import msgspec

from notify_streams.gateway.live.connection import Connection
from notify_streams.gateway.live.session import Close, Code, Command, Pace
from notify_streams.gateway.live.told import Reading, change_of
from notify_streams.gateway.live.wheel import Wheel, now_ms
from notify_streams.ports import Unavailable
from notify_streams.settings import Gateway, milliseconds, seconds
from notify_streams.stores.inbox_keys import InboxKeys

log = logging.getLogger(__name__)
_SUBSCRIBED_WITHIN_S = 1.0  # else Redis is away, and what it says later is looked up when it is back
_LOOKS = 200  # at once
_SAID_EVERY_MS = 100_000
_COMMANDS = 1_000  # on their way to the log


class Looks(Protocol):
    """Where an inbox stands."""

    async def read(self, user_id: str, after: int | None) -> Reading:
        """See Lookup."""


class Subscriptions(Protocol):
    """Channels that are heard."""

    def want(self, channel: bytes) -> asyncio.Future[None]:
        """Done once it is heard."""

    def forget(self, channel: bytes) -> None:
        """No longer."""


class Presence(Protocol):
    """Tells other gateways."""

    async def here(self, user_id: str) -> None:
        """See Registry."""

    async def gone(self, user_id: str) -> None:
        """See Registry."""


class Commanding(Protocol):
    """Where commands go."""

    async def give(self, user_id: str, command: Command) -> None:
        """Raises Unavailable when it is not known to be on the log."""


class Refused(Exception):
    """No stream for this one, for the reason of this Close."""

    def __init__(self, code: Code, reason: str) -> None:
        super().__init__(reason)
        self.close = Close(code, reason)


class Room(msgspec.Struct):
    """One user's connections here, which share a subscription."""

    subscribed: asyncio.Future[None]
    connections: list[Connection] = []
    said_at: int = 0


class Hub:
    """`heard` and `restored` are for whoever carries the subscriptions."""

    def __init__(
        self, settings: Gateway, keys: InboxKeys, lookup: Looks, presence: Presence, orders: Commanding
    ) -> None:
        self.buffer, self._most, self._per_user = (
            settings.stream_buffer,
            settings.stream_connections,
            settings.stream_per_user,
        )
        self._drain_s = seconds(settings.stream_drain)
        self._keys, self._lookup, self._presence, self._orders = keys, lookup, presence, orders
        self._channels: Subscriptions | None = None
        self._rooms: dict[str, Room] = {}
        self._by_channel: dict[bytes, Room] = {}
        self._wheel = Wheel()
        self._looks = asyncio.Semaphore(_LOOKS)
        self._tasks: set[asyncio.Task[None]] = set()
        self._ordered = 0
        self.count, self.draining = 0, False

    @property
    def full(self) -> bool:
        """Whether another process has to take the next one."""
        return self.draining or self.count >= self._most

    def start(self, channels: Subscriptions) -> None:
        """From now on connections may enter."""
        self._channels = channels
        self._wheel.start()

    def admit(self, connection: Connection) -> None:
        """Count it in; `leave` counts it out. Raises Refused."""
        room = self._room(connection.user_id)
        if len(room.connections) >= self._per_user:
            raise Refused(Code.TOO_MUCH, f"more than {self._per_user} connections of one user")
        room.connections.append(connection)
        self.count += 1

    async def begin(self, connection: Connection) -> None:
        """Bring it its first reading; nothing is missed after it."""
        subscribed = self._rooms[connection.user_id].subscribed
        await asyncio.wait((subscribed,), timeout=_SUBSCRIBED_WITHIN_S)
        await self._look(connection, connection.session.begins_at)

    def leave(self, connection: Connection) -> None:
        """It has ended."""
        room = self._rooms.get(connection.user_id)
        if room is None or connection not in room.connections:
            return
        room.connections.remove(connection)
        self.count -= 1
        if not room.connections:
            channel = self._keys.channel(connection.user_id).encode()
            del self._rooms[connection.user_id], self._by_channel[channel]
            self._subscriptions.forget(channel)
            self._do(self._presence.gone(connection.user_id))

    def heard(self, channel: bytes, payload: bytes) -> None:
        """A message came."""
        room = self._by_channel.get(channel)
        if room is not None:
            try:
                change = change_of(payload)
            except msgspec.MsgspecError as error:
                log.error("stream.unreadable reason=%s", type(error).__name__)
                return
            for connection in tuple(room.connections):
                connection.heard(change)

    def restored(self) -> None:
        """Messages may have been missed."""
        log.info("stream.subscribed rooms=%d", len(self._rooms))
        for room in tuple(self._rooms.values()):
            for connection in tuple(room.connections):
                connection.interrupted()

    def ask(self, connection: Connection, after: int | None) -> None:
        """See Around."""
        self._do(self._look(connection, after))

    def sleep(self, connection: Connection) -> None:
        """See Around."""
        self._wheel.set(connection)

    def command(self, connection: Connection, command: Command) -> None:
        """See Around."""
        if self._ordered >= _COMMANDS:
            connection.close(Close(Code.TRY_AGAIN, "too many commands are on their way"))
        else:
            self._ordered += 1
            self._do(self._order(connection, command))

    async def drain(self) -> None:
        """Send everybody away, each to come back at another time; take nobody new."""
        self.draining = True
        everybody = [connection for room in self._rooms.values() for connection in room.connections]
        for connection in everybody:
            if connection.ended is None:
                connection.act(connection.session.leaving(round(random.uniform(0, self._drain_s) * 1000)))
        log.info("stream.drained connections=%d", len(everybody))

    async def close(self) -> None:
        """Nothing goes on."""
        self._wheel.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def _subscriptions(self) -> Subscriptions:
        assert self._channels is not None, "a hub starts before anybody enters"
        return self._channels

    def _room(self, user_id: str) -> Room:
        room = self._rooms.get(user_id)
        if room is None:
            channel = self._keys.channel(user_id).encode()
            room = Room(self._subscriptions.want(channel))
            self._rooms[user_id] = self._by_channel[channel] = room
        return room

    async def _look(self, connection: Connection, after: int | None) -> None:
        user_id = connection.user_id
        async with self._looks:
            try:
                reading: Reading | None = await self._lookup.read(user_id, after)
            except Unavailable as error:
                log.warning("stream.unavailable reason=%s", error)
                reading = None
            connection.read(reading)
            room = self._rooms.get(user_id)
            if room is not None and now_ms() - room.said_at > _SAID_EVERY_MS:
                room.said_at = now_ms()
                await self._presence.here(user_id)

    async def _order(self, connection: Connection, command: Command) -> None:
        try:
            await self._orders.give(connection.user_id, command)
        except Unavailable:
            connection.close(Close(Code.TRY_AGAIN, "a command is not known to have been taken"))
        finally:
            self._ordered -= 1

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def pace_of(settings: Gateway, rate: int, *, pongs: bool) -> Pace:
    """By the settings."""
    return Pace(
        ping_ms=milliseconds(settings.stream_ping),
        pong_ms=milliseconds(settings.stream_pong),
        check_ms=milliseconds(settings.stream_check),
        rate=rate,
        pongs=pongs,
    )
