"""Connections to APNs: few, kept, and no more requests on each than its server lets."""

import asyncio
import ssl
from collections import deque
from dataclasses import dataclass, field

from notify_streams.providers.apns.connection import Connection, Exchange

MOST_CONNECTIONS = 4
_AGAIN_S = 1.0  # between attempts at one more, while there are others
_IDLE_S = 300.0  # after that a middlebox may have forgotten it without a word


@dataclass
class Pool:
    """Opens a connection with the first request, another when those that there are have been answered and are full.

    A token's first request is alone on its connection until it is answered: that is Apple's rule, and a second
    connection would not change it.
    """

    host: str
    port: int
    tls: ssl.SSLContext
    most: int = MOST_CONNECTIONS
    _connections: list[Connection] = field(default_factory=list)
    _not_before: float = 0.0
    _opening: asyncio.Task[None] | None = None
    _waiting: deque[asyncio.Future[None]] = field(default_factory=deque)

    async def run(self, exchange: Exchange) -> None:
        """One request and its answer. Raises Lost, or OSError where no connection can be had.

        Cancelled after it was written it is reset, and connections that have said nothing since it began, or have
        never answered anything, are given up.
        """
        began = asyncio.get_running_loop().time()
        try:
            await self._run(exchange)
        except asyncio.CancelledError:
            for connection in self._connections:
                if connection.heard_at < began or not connection.proven:
                    connection.retire()
            raise

    async def close(self) -> None:
        """Let go of all connections, and open none any more."""
        self.most = 0
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.gather(self._opening, return_exceptions=True)
        for connection in self._connections:
            connection.close()

    async def _run(self, exchange: Exchange) -> None:
        connection = await self._with_room()
        stream_id = connection.start(exchange)
        try:
            await exchange.answer
        except asyncio.CancelledError:
            connection.give_up(stream_id)
            raise

    async def _with_room(self) -> Connection:
        while True:
            self._retire_idle()
            for connection in self._connections:
                if connection.room:
                    return connection
            self._open_another()
            await self._wait()

    async def _wait(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled() and waiter.done():
                self._changed()  # it was this one's turn: the next one's
            raise
        finally:
            if waiter in self._waiting:
                self._waiting.remove(waiter)

    def _open_another(self) -> None:
        if self._opening is not None or len(self._connections) >= self.most:
            return
        if self._connections and asyncio.get_running_loop().time() < self._not_before:
            return
        if all(connection.proven for connection in self._connections):
            self._opening = asyncio.create_task(self._open())

    async def _open(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            transport, connection = await loop.create_connection(
                lambda: Connection(self._changed), self.host, self.port, ssl=self.tls
            )
            if transport.get_extra_info("ssl_object").selected_alpn_protocol() != "h2":
                transport.abort()
                raise ConnectionRefusedError("no HTTP/2")
            self._connections.append(connection)
        except OSError as error:
            self._not_before = loop.time() + _AGAIN_S
            self._fail(error)
        finally:
            self._opening = None
        self._changed()

    def _fail(self, error: OSError) -> None:
        """Nobody waits for a connection that cannot be had; where there is another they wait for that."""
        while self._waiting and not self._connections:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_exception(error)

    def _changed(self) -> None:
        """A place is free, or a connection has come or gone: who waits looks again, as many as there are places."""
        self._connections = [connection for connection in self._connections if connection.alive]
        places = sum(connection.room for connection in self._connections)
        if not self._connections:
            places = len(self._waiting)
        while self._waiting and places > 0:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                places -= 1
        if self._waiting:
            self._open_another()

    def _retire_idle(self) -> None:
        now = asyncio.get_running_loop().time()
        for connection in self._connections:
            if now - connection.heard_at > _IDLE_S and connection.idle:
                connection.retire()
        self._connections = [connection for connection in self._connections if connection.alive]
