"""Live streams on a real gateway and a real Redis, with frames as the inbox role publishes them."""

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import websockets

from notify_streams.gateway.openapi import document
from notify_streams.settings import Redis
from schemas.inbox import InboxCommandV1
from tests.live_gateway import Gateway, a_gateway, sequences, token, until

ITEM = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"


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
        assert await sequences(socket, 2) == [4, 5]


async def test_reconnecting_catches_up(gateway: Gateway) -> None:
    """INB-07: 200 rounds; what is created meanwhile comes after what was created before, each once."""
    inbox = gateway.inbox()
    for _ in range(200):
        start = inbox.sequence
        await inbox.add(5)
        creating = asyncio.create_task(inbox.add(5))
        await asyncio.sleep(random.uniform(0, 0.005))
        async with gateway.socket(inbox.user_id, after=start) as socket:
            assert await sequences(socket, 11) == list(range(start, start + 11))
        await creating


async def test_what_is_lost_mixed_up_or_repeated_on_the_way_is_told_once_and_in_order(gateway: Gateway) -> None:
    inbox = gateway.inbox()
    async with gateway.socket(inbox.user_id) as socket:
        assert await sequences(socket, 1) == [0]
        await inbox.add(6, published=False)
        await inbox.hear([3, 2, 6, 6, 5, 1])
        assert await sequences(socket, 6) == [1, 2, 3, 4, 5, 6]


async def test_what_the_tail_has_forgotten_is_a_reset_that_says_where_it_goes_on(gateway: Gateway) -> None:
    inbox = gateway.inbox()
    await inbox.add(150)
    async with gateway.socket(inbox.user_id, after=10) as socket:
        frames = [await socket.receive_json() for _ in range(2)]
        assert [(frame["type"], frame["sequence"]) for frame in frames] == [("hello", 10), ("reset", 150)]
        await inbox.add()
        assert await sequences(socket, 1) == [151]


@pytest.mark.parametrize("after", [7, 10**17])
async def test_a_sequence_from_the_future_or_of_an_earlier_life_is_a_reset(gateway: Gateway, after: int) -> None:
    inbox = gateway.inbox()
    await inbox.add(2)
    async with gateway.socket(inbox.user_id, after=after) as socket:
        frames = [await socket.receive_json() for _ in range(2)]
        assert [(frame["type"], frame["sequence"]) for frame in frames] == [("hello", 2), ("reset", 2)]


async def test_all_of_a_users_connections_hear_the_same_and_nobody_else_does(gateway: Gateway) -> None:
    """SEC-03: a stream is of whom the token names."""
    ann, ben = gateway.inbox(), gateway.inbox()
    async with (
        gateway.socket(ann.user_id) as one,
        gateway.socket(ann.user_id) as two,
        gateway.socket(ben.user_id) as other,
    ):
        for socket in (one, two, other):
            assert await sequences(socket, 1) == [0]
        await ann.add(3)
        await ben.add(1)
        assert await sequences(one, 3) == await sequences(two, 3) == [1, 2, 3]
        assert await sequences(other, 1) == [1]
        with pytest.raises(TimeoutError):
            await other.receive(timeout=0.2)


async def test_what_people_do_over_it_becomes_commands(gateway: Gateway) -> None:
    inbox = gateway.inbox()
    await inbox.add(4)
    async with gateway.socket(inbox.user_id) as socket:
        await socket.receive_json()
        await socket.send_json({"type": "read", "item_ids": [ITEM, "no item"]})
        await socket.send_json({"type": "seen"})
        await until(lambda: len(gateway.log.records) == 2)
    assert {key for _, key, _ in gateway.log.records} == {inbox.user_id.encode()}
    read, seen = gateway.log.commands()
    assert isinstance(read, InboxCommandV1)
    assert (read.action, read.item_ids, read.up_to) == ("read", (ITEM,), None)
    assert (seen.action, seen.item_ids, seen.up_to) == ("seen", (), 4)


async def test_a_client_that_nobody_here_wrote_gets_it_by_subprotocol(gateway: Gateway) -> None:
    """A browser cannot set headers: `notify.v1, bearer.TOKEN`. Frames of every length are well-formed."""
    inbox = gateway.inbox()
    url = gateway.url.replace("http", "ws", 1) + "v1/stream?after=0"
    protocols = [websockets.Subprotocol(name) for name in ("notify.v1", f"bearer.{token(inbox.user_id)}")]
    async with websockets.connect(url, subprotocols=protocols) as client:
        assert client.subprotocol == "notify.v1"
        assert '"hello"' in str(await client.recv())
        for size in (0, 500, 70_000):
            await inbox.add(body="x" * size)
            frame = str(await client.recv())
            assert frame.count("x") >= size
            await client.send('{"type":"pong"}')
        await (await client.ping())


async def test_users_who_are_connected_can_be_found_by_other_gateways(gateway: Gateway) -> None:
    inbox = gateway.inbox()
    registry = gateway.live.registry
    async with gateway.socket(inbox.user_id) as socket:
        await socket.receive_json()
        for _ in range(100):
            if await registry.gateways(inbox.user_id):
                break
            await asyncio.sleep(0.02)
        assert await registry.gateways(inbox.user_id) == {registry.gateway}
    for _ in range(100):
        if not await registry.gateways(inbox.user_id):
            break
        await asyncio.sleep(0.02)
    assert await registry.gateways(inbox.user_id) == frozenset()
    assert gateway.live.hub.count == 0


async def test_streams_and_tickets_are_described(gateway: Gateway) -> None:
    paths = document(gateway.live.routes())["paths"]
    assert set(paths) == {"/v1/stream", "/v1/stream/sse", "/v1/stream/ticket"}
    assert "4429" in paths["/v1/stream"]["get"]["responses"]["101"]["description"]
