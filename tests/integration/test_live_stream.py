"""Live streams on a real gateway and a real Redis, with frames as the inbox role publishes them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from notify_streams.settings import Redis
from tests.live_gateway import Gateway, a_gateway


@pytest.fixture
async def gateway(redis: Redis, tmp_path: Path) -> AsyncIterator[Gateway]:
    async with a_gateway(redis, tmp_path) as gateway:
        yield gateway


async def test_it_says_hello_and_then_what_comes(gateway: Gateway) -> None:
    inbox = gateway.inbox()
    await inbox.add(3)
    async with gateway.socket(inbox.user_id) as socket:
        assert await socket.receive_json() == {"type": "hello", "sequence": 3, "unread": 3, "unseen": 3}
        await inbox.add(2)
        assert [(await socket.receive_json())["sequence"] for _ in range(2)] == [4, 5]
