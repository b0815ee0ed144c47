"""HTTP servers that break off where they are told, one connection after the other."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

CLOSE = b"close"
HANG = b"hang"
RESET = b"reset"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


@dataclass
class RawHttp:
    """Answers each request with what is next in `answers`, the last one for ever: bytes, CLOSE, RESET or HANG.

    `before`: what happens to a connection before it is read from.
    """

    answers: Sequence[bytes] = (OK,)
    before: bytes = b""
    port: int = 0
    connections: int = 0
    requests: list[bytes] = field(default_factory=list)
    conversations: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self.conversations.add(task)
        try:
            await self._say(writer, self.before)
            while True:
                self.requests.append(await _request(reader))
                await self._say(writer, self.answers[min(len(self.requests), len(self.answers)) - 1])
        except (_Closed, ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            writer.close()
            self.conversations.discard(task)

    async def stop(self) -> None:
        for task in self.conversations:
            task.cancel()
        await asyncio.gather(*self.conversations, return_exceptions=True)
        await asyncio.sleep(0.01)

    async def _say(self, writer: asyncio.StreamWriter, answer: bytes) -> None:
        if answer == CLOSE:
            writer.close()
            raise _Closed
        if answer == RESET:
            raise _Closed
        if answer == HANG:
            await asyncio.sleep(30)
        writer.write(answer)
        await writer.drain()


class _Closed(Exception):
    """As told."""


async def _request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    return head + await reader.readexactly(length)


@contextlib.asynccontextmanager
async def raw_http(*answers: bytes, before: bytes = b"") -> AsyncIterator[RawHttp]:
    server = RawHttp(answers or (OK,), before)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        await server.stop()
