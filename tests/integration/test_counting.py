"""Counting in a real Redis, shared by gateways and forgotten after its time."""

import asyncio
from uuid import uuid4

from notify_streams import settings
from notify_streams.gateway.counting import WINDOW_S, Counting
from notify_streams.gateway.pipelined import Pipelined
from notify_streams.stores.redis import Expendable


async def test_gateways_share_one_count_whose_end_does_not_move(redis: settings.Redis) -> None:
    kafka, name = settings.Kafka(prefix=f"{uuid4().hex}."), "tries/ann"
    clients = [Expendable(redis) for _ in range(3)]
    gateways = [Counting(Pipelined(client), kafka) for client in clients]
    waits = await asyncio.gather(*(gateways[n % 3].add({name: 5}, 0.0) for n in range(30)))
    assert sum(wait is None for wait in waits) == 5
    assert {wait for wait in waits if wait is not None} <= {WINDOW_S, WINDOW_S - 1}
    keys = [key async for key in clients[0].client.scan_iter(f"{kafka.prefix}*")]
    assert len(keys) == 1
    await clients[0].client.expire(keys[0], 7)
    assert await Counting(Pipelined(clients[1]), kafka).add({name: 5}, 0.0) in (6, 7)
    await clients[0].client.delete(*keys)
    await asyncio.gather(*(client.close() for client in clients))
