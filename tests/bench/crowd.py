"""`python -m tests.bench.crowd PORT FIRST COUNT SOURCE RATE`: many streams in one process, as light as they can be.

It prints `ready` once all have their hello. Then each line on its input is answered by one of JSON: how many are
connected, and the milliseconds from `body` of each item to its arrival since the last line.
"""

import asyncio
import os
import sys
import time
from functools import partial
from typing import cast

import orjson
import uvloop

from tests.live_gateway import token

_HELLO_S = 90.0
_PONG = b'{"type":"pong"}'
_HEAD = (
    "GET /v1/stream HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer {}\r\n\r\n"
)


class Crowd:
    """What all of them heard."""

    def __init__(self, count: int) -> None:
        self.count, self.greeted, self.connected = count, 0, 0
        self.lags_ms: list[float] = []
        self.all_greeted = asyncio.Event()

    def hello(self) -> None:
        """One more has begun."""
        self.greeted += 1
        if self.greeted == self.count:
            self.all_greeted.set()


class Person(asyncio.Protocol):
    """One stream: reads frames, answers pings."""

    __slots__ = ("_buffer", "_crowd", "_open", "_token", "_transport")

    def __init__(self, crowd: Crowd, user_token: str) -> None:
        self._crowd, self._token, self._buffer, self._open = crowd, user_token, b"", False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See Protocol."""
        self._transport = cast(asyncio.WriteTransport, transport)  # uvloop's says of itself that it is none
        self._crowd.connected += 1
        self._transport.write(_HEAD.format(self._token).encode())

    def connection_lost(self, exc: Exception | None) -> None:
        """See Protocol."""
        self._crowd.connected -= 1

    def data_received(self, data: bytes) -> None:
        """See Protocol."""
        self._buffer += data
        if not self._open:
            head, end, rest = self._buffer.partition(b"\r\n\r\n")
            if not end:
                return
            if b" 101 " not in head[:16]:
                raise RuntimeError(head.decode())
            self._open, self._buffer = True, rest
        while (frame := self._frame()) is not None:
            self._take(frame)

    def _frame(self) -> bytes | None:
        held = self._buffer
        if len(held) < 2:
            return None
        size, start = held[1], 2
        if size == 126:
            size, start = int.from_bytes(held[2:4], "big"), 4
        if len(held) < start + size:
            return None
        self._buffer = held[start + size :]
        return held[start : start + size]

    def _take(self, frame: bytes) -> None:
        if frame.startswith(b'{"type":"ping"'):
            mask = os.urandom(4)
            masked = bytes(byte ^ mask[index % 4] for index, byte in enumerate(_PONG))
            self._transport.write(bytes((0x81, 0x80 | len(_PONG))) + mask + masked)
        elif frame.startswith(b'{"type":"hello"'):
            self._crowd.hello()
        elif frame.startswith(b'{"type":"item"'):
            sent_ns = int(orjson.loads(frame)["item"]["body"])
            self._crowd.lags_ms.append((time.time_ns() - sent_ns) / 1e6)


def _same(person: Person) -> Person:
    return person


async def main(port: int, first: int, count: int, source: str, rate: float) -> None:
    """See the module."""
    loop, crowd = asyncio.get_running_loop(), Crowd(count)
    began = time.monotonic()
    for number in range(count):
        person = Person(crowd, token(f"user-{first + number}", seconds=3600))
        await loop.create_connection(partial(_same, person), "127.0.0.1", port, local_addr=(source, 0))
        await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
    async with asyncio.timeout(_HELLO_S):
        await crowd.all_greeted.wait()
    print("ready", flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        lags, crowd.lags_ms = crowd.lags_ms, []
        print(orjson.dumps({"connected": crowd.connected, "lags_ms": lags}).decode(), flush=True)


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], float(sys.argv[5])))
