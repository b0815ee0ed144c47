"""People at their inboxes: each keeps a stream open through whatever gateways do, and checks what it is told."""

import asyncio
import random
import time
from collections import Counter
from dataclasses import dataclass, field

import aiohttp
import orjson
from aiohttp import WSMsgType

from tests.live_gateway import token

_BACKOFF_S = 3.0  # at most, after a connection that broke without a word


@dataclass
class Heard:
    """What all of them found."""

    connects: Counter[int] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    resets: int = 0
    told: int = 0


@dataclass
class Listener:
    """One client of one user. `at` is the last sequence it was told of."""

    url: str
    user_id: str
    heard: Heard
    at: int = 0
    connected: bool = False

    async def run(self, session: aiohttp.ClientSession) -> None:
        """Until it is cancelled."""
        wait_s = random.uniform(0, _BACKOFF_S)
        while True:
            await asyncio.sleep(wait_s)
            try:
                wait_s = await self._stream(session)
            except aiohttp.WSServerHandshakeError as error:
                self.heard.refused[str(error.status)] += 1
                wait_s = random.uniform(0, _BACKOFF_S)
            except (aiohttp.ClientError, OSError) as error:
                self.heard.refused[type(error).__name__] += 1
                wait_s = random.uniform(0, _BACKOFF_S)
            finally:
                self.connected = False

    async def _stream(self, session: aiohttp.ClientSession) -> float:
        """Until it ends; how long to wait then."""
        headers = {"Authorization": f"Bearer {token(self.user_id, seconds=3600)}"}
        place = f"{self.url}/v1/stream?after={self.at}"
        async with session.ws_connect(place, headers=headers, max_msg_size=0) as socket:
            self.heard.connects[int(time.monotonic())] += 1
            self.connected, wait_s = True, random.uniform(0, _BACKOFF_S)
            while True:
                message = await socket.receive()
                if message.type is not WSMsgType.TEXT:
                    self.heard.ended[str(message.data if message.type is WSMsgType.CLOSE else "broken")] += 1
                    return wait_s
                frame = orjson.loads(message.data)
                if frame["type"] == "bye":
                    wait_s = frame["reconnect_ms"] / 1000
                elif frame["type"] == "ping":
                    await socket.send_str('{"type":"pong"}')
                else:
                    self._take(frame["type"], frame["sequence"])

    def _take(self, kind: str, sequence: int) -> None:
        match kind:
            case "item" if sequence == self.at + 1:
                self.at, self.heard.told = sequence, self.heard.told + 1
            case "hello" if sequence == self.at:
                return
            case "reset":
                self.at, self.heard.resets = sequence, self.heard.resets + 1
            case _:
                self.heard.faults.append(f"{kind} {sequence} after {self.at}")
                self.at = max(self.at, sequence)
