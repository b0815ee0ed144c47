"""The connection that carries the subscriptions: it ends whenever it is told to, and hears what is wanted last."""

import asyncio
from functools import partial
from typing import Any

from notify_streams.gateway.live.channels import Channels
from notify_streams.settings import Redis
from notify_streams.stores.redis import Expendable
from tests.builders import an_id
from tests.live_gateway import until


def ignore(*_words: bytes) -> None:
    """Nobody listens."""


def is_longer(heard: list[bytes], count: int) -> bool:
    return len(heard) > count


async def test_it_ends_at_any_moment_of_its_beginning(redis: Redis) -> None:
    """The client's handshake swallows a cancellation that comes at the wrong moment."""
    for moment in range(60):
        channels = Channels(redis, ignore, ignore)
        channels.start()
        for _ in range(moment):
            await asyncio.sleep(0)
        async with asyncio.timeout(5):
            await channels.close()


async def test_a_channel_that_was_forgotten_and_is_wanted_again_is_heard(redis: Redis) -> None:
    heard, name = list[bytes](), an_id().encode()
    channels, publisher = Channels(redis, lambda _channel, payload: heard.append(payload), ignore), Expendable(redis)
    client: Any = publisher.client
    channels.start()
    for number in range(50):
        channels.want(name)
        channels.forget(name)
        await asyncio.wait_for(channels.want(name), 5)
        await client.execute_command("SPUBLISH", name, b"%d" % number)
        await until(partial(is_longer, heard, number))
        channels.forget(name)
    await channels.close()
    await publisher.close()
    assert heard == [b"%d" % number for number in range(50)]
