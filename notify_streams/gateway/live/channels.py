"""Sharded subscriptions: one connection to Redis for all of them, that comes back when Redis does."""

import asyncio
import logging
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from notify_streams.settings import Redis as RedisSettings
from notify_streams.settings import seconds

log = logging.getLogger(__name__)
_SILENCE_S = 5.0  # then we ask whether it is still there, and give it as long again
_BACKOFF_S = (0.1, 2.0)
_CANCEL_AGAIN_S = 0.1


class Channels:
    """What is heard on a channel goes to `heard`; `restored` is called when all are subscribed to again after a break.

    In between messages were lost: whoever listens has to look.
    """

    def __init__(
        self, settings: RedisSettings, heard: Callable[[bytes, bytes], None], restored: Callable[[], None]
    ) -> None:
        self._client: Redis = Redis.from_url(
            settings.url, protocol=2, socket_connect_timeout=seconds(settings.timeout), max_connections=1
        )
        self._heard, self._restored = heard, restored
        self._wanted: dict[bytes, None] = {}
        self._pending: dict[bytes, int] = {}  # confirmations to come; that of an earlier subscription says nothing
        self._waiting: dict[bytes, list[asyncio.Future[None]]] = {}
        self._told_restored = True
        self._out: list[bytes] = []
        self._more = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Connect in the background, for as long as it takes."""
        self._running = asyncio.create_task(self._run(), name="live.channels")

    async def close(self) -> None:
        """End it."""
        while self._running is not None and not self._running.done():
            self._running.cancel()  # the client's handshake may swallow one
            await asyncio.wait((self._running,), timeout=_CANCEL_AGAIN_S)
        await self._client.aclose()

    def want(self, channel: bytes) -> asyncio.Future[None]:
        """Done once the channel is heard; while Redis is away that takes until it is back."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(channel, []).append(future)
        self._subscribe(channel)
        return future

    def forget(self, channel: bytes) -> None:
        """No longer wanted."""
        if channel in self._wanted:
            del self._wanted[channel]
            self._waiting.pop(channel, None)
            self._send(b"SUNSUBSCRIBE", channel)

    def _subscribe(self, channel: bytes) -> None:
        self._wanted[channel] = None
        self._pending[channel] = self._pending.get(channel, 0) + 1
        self._send(b"SSUBSCRIBE", channel)

    def _send(self, *words: bytes) -> None:
        self._out.append(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(w), w) for w in words))
        self._more.set()

    async def _run(self) -> None:
        least, most = _BACKOFF_S
        pause = least
        while True:
            connection: Any = self._client.connection_pool.make_connection()  # type: ignore[no-untyped-call]
            try:
                await connection.connect()
                pause = least
                await self._carry(connection)
            except (RedisError, OSError, TimeoutError) as error:
                log.warning("live.channels_away reason=%s channels=%d", type(error).__name__, len(self._wanted))
            finally:
                await connection.disconnect(nowait=True)
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(most, 2 * pause)

    async def _carry(self, connection: Any) -> None:
        """Until it breaks. Everything is subscribed to anew."""
        self._out, self._told_restored = [], False
        self._pending.clear()
        for channel in self._wanted:
            self._subscribe(channel)
        self._confirmed()
        writing = asyncio.create_task(self._write(connection), name="live.channels.write")
        try:
            await self._read(connection, writing)
        finally:
            writing.cancel()
            with suppress(asyncio.CancelledError, RedisError, OSError, TimeoutError):
                await writing

    async def _write(self, connection: Any) -> None:
        while True:
            self._more.clear()
            out, self._out = self._out, []
            if out:
                await connection.send_packed_command([b"".join(out)], check_health=False)
            await self._more.wait()

    async def _read(self, connection: Any, writing: asyncio.Task[None]) -> None:
        asked = False
        while not writing.done():
            try:
                async with asyncio.timeout(_SILENCE_S):
                    answer = await connection.read_response(timeout=float("inf"), disconnect_on_error=False)
            except TimeoutError:
                if asked:
                    raise
                asked = True
                self._send(b"PING")
                continue
            asked = False
            self._take(answer)
        await writing

    def _take(self, answer: list[Any]) -> None:
        match answer:
            case [b"smessage", channel, payload]:
                self._heard(channel, payload)
            case [b"ssubscribe", channel, _]:
                self._pending[channel] -= 1
                if not self._pending[channel]:
                    del self._pending[channel]
                    self._wake(channel)
                self._confirmed()
            case _:
                return  # the end of a subscription, or a pong

    def _wake(self, channel: bytes) -> None:
        for future in self._waiting.pop(channel, ()):
            if not future.done():
                future.set_result(None)

    def _confirmed(self) -> None:
        if not self._pending and not self._told_restored:
            self._told_restored = True
            self._restored()
