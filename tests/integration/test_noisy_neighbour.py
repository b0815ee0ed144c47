"""One user who opens streams without end harms nobody else."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from aiohttp import WSMsgType

from notify_streams.settings import Redis
from tests.live_gateway import Gateway, Inbox, a_gateway, sequences, token

MOST = 20
AT_ONCE = 8
ITEMS = 100


async def opened_again_and_again(gateway: Gateway, user_id: str, ended: Counter[int]) -> None:
    """As a client does that never waits, by WebSocket and by SSE; how each attempt ended is counted."""
    headers = {"Authorization": f"Bearer {token(user_id)}"}
    while True:
        async with gateway.socket(user_id) as socket:
            message = await socket.receive()
            ended[message.data if message.type is WSMsgType.CLOSE else 101] += 1
        async with gateway.client.get("/v1/stream/sse", headers=headers) as answer:
            ended[answer.status] += 1


@asynccontextmanager
async def a_crowd_of_one(gateway: Gateway, ended: Counter[int]) -> AsyncIterator[None]:
    """A user with as many streams as there may be, who goes on trying."""
    noisy = gateway.inbox()
    async with AsyncExitStack() as held:
        for _ in range(MOST):
            await sequences(await held.enter_async_context(gateway.socket(noisy.user_id)), 1)
        tries = [asyncio.create_task(opened_again_and_again(gateway, noisy.user_id, ended)) for _ in range(AT_ONCE)]
        try:
            yield
        finally:
            for task in tries:
                task.cancel()
            await asyncio.gather(*tries, return_exceptions=True)


async def told_within(gateway: Gateway, inbox: Inbox) -> list[float]:
    """How long each new item takes to the socket (s), quickest first; all come, in order."""
    took = []
    async with gateway.socket(inbox.user_id) as socket:
        [before] = await sequences(socket, 1)
        for number in range(1, ITEMS + 1):
            began = time.perf_counter()
            await inbox.add()
            assert await sequences(socket, 1) == [before + number]
            took.append(time.perf_counter() - began)
            await asyncio.sleep(0.01)
    return sorted(took)


async def test_who_opens_streams_without_end_is_refused_and_slows_nobody_down(redis: Redis, tmp_path: Path) -> None:
    """FAIR-10, whose neighbour is a user: streams are theirs, and no tenant stands between them and the gateway."""
    ended: Counter[int] = Counter()
    async with a_gateway(redis, tmp_path, stream_per_user=MOST) as gateway:
        quiet = gateway.inbox()
        async with a_crowd_of_one(gateway, ended):
            took = await told_within(gateway, quiet)
        assert took[int(ITEMS * 0.99) - 1] < 0.25
        assert set(ended) == {4429, 429}, ended
        assert sum(ended.values()) > 100
        assert await told_within(gateway, quiet)
