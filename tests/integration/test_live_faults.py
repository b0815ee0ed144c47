"""Live streams while Redis goes and comes back, a reader is slow, or the gateway stops: nothing is missed silently."""

import asyncio
import random
import socket as sockets
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import pytest
from aiohttp import WSMsgType

from notify_streams.local.engines import EngineName, LocalEngines
from notify_streams.ports import InboxCounts
from notify_streams.settings import Redis
from notify_streams.stores.redis import Expendable
from tests.engines import JARS
from tests.live_gateway import KEYS, Gateway, Inbox, a_gateway, sequences, token


@pytest.fixture
async def own_redis(tmp_path: Path) -> AsyncIterator[LocalEngines]:
    which: tuple[EngineName, ...] = ("redis",)
    async with LocalEngines(tmp_path / "engines", JARS, which=which, standard_ports=False) as engines:
        yield engines


async def stop(engines: LocalEngines) -> None:
    process = psutil.Process(engines.pids["redis"])
    process.kill()
    await asyncio.to_thread(process.wait, 5)


async def emptied(settings: Redis) -> None:
    """What its file has kept by then is a matter of chance: here it has kept nothing."""
    client = Expendable(settings)
    await client.client.flushall()
    await client.close()


async def subscribed(gateway: Gateway, inbox: Inbox) -> None:
    """Wait until Redis knows the gateway again."""
    client: Any = gateway.redis.client
    for _ in range(200):
        if (await client.execute_command("PUBSUB", "SHARDNUMSUB", KEYS.channel(inbox.user_id)))[1] == 1:
            return
        await asyncio.sleep(0.1)
    raise TimeoutError("the gateway did not subscribe again")


async def follow(socket: Any, at: int, until: int) -> tuple[int, int]:
    """Read on until this sequence; how many changes were told, and how many resets."""
    told = resets = 0
    async with asyncio.timeout(20):
        while at < until:
            frame = await socket.receive_json()
            match frame["type"]:
                case "reset":
                    at, resets = frame["sequence"], resets + 1
                case "item":
                    assert frame["sequence"] == at + 1
                    at, told = at + 1, told + 1
    return told, resets


async def test_what_comes_while_redis_is_away_is_a_reset_once_it_is_back(
    own_redis: LocalEngines, tmp_path: Path
) -> None:
    settings = Redis(url=own_redis.addresses.redis or "", timeout="200ms")
    async with a_gateway(settings, tmp_path, stream_check="1s") as gateway:
        inbox = gateway.inbox()
        async with gateway.socket(inbox.user_id) as socket:
            assert await sequences(socket, 1) == [0]
            await inbox.add(2)
            assert await sequences(socket, 2) == [1, 2]
            await stop(own_redis)
            gateway.stored.headers[inbox.user_id] = InboxCounts(5, 5, 5)
            assert await follow(socket, 2, 5) == (0, 1)
            await own_redis.start("redis")
            await emptied(settings)
            await subscribed(gateway, inbox)
            inbox.sequence = 5
            await inbox.add(3)
            await follow(socket, 5, 8)  # told, or a reset for who looked just before
            await inbox.add(2)
            assert await follow(socket, 8, 10) == (2, 0)


async def test_streams_that_were_cut_off_from_redis_look_when_it_is_back(redis: Redis, tmp_path: Path) -> None:
    async with a_gateway(redis, tmp_path) as gateway:
        boxes = [gateway.inbox() for _ in range(20)]
        streams = [await gateway.socket(box.user_id) for box in boxes]
        for stream in streams:
            assert await sequences(stream, 1) == [0]
        client: Any = gateway.redis.client
        await client.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
        await asyncio.gather(*(box.add(3) for box in boxes))
        for stream in streams:
            assert await follow(stream, 0, 3) == (3, 0)
            await stream.close()


async def test_a_slow_reader_is_let_go_and_misses_nothing(redis: Redis, tmp_path: Path) -> None:
    """INB-10: what waits for it is bounded, the others do not notice, and it catches up from where it was."""
    async with a_gateway(redis, tmp_path, stream_buffer=64 * 1024) as gateway:
        inbox = gateway.inbox()
        async with slow(gateway, inbox) as reader, gateway.socket(inbox.user_id) as fast:
            assert await sequences(fast, 1) == [0]
            lags = []
            for number in range(1, 1501):
                started = time.monotonic()
                await inbox.add(body="x" * 2000)
                assert await sequences(fast, 1) == [number]
                lags.append(time.monotonic() - started)
            assert sorted(lags)[int(0.99 * len(lags))] < 0.5
            at, code = await rest_of(reader)
        assert code == 4429
        assert 0 < at < 1500
        async with gateway.socket(inbox.user_id, after=at) as again:
            told, resets = await follow(again, at, 1500)
            assert told == 1500 - at if not resets else at + told < 1500


def slow(gateway: Gateway, inbox: Inbox) -> Any:
    """A client whose side keeps next to nothing, and that does not read until it is asked."""

    def narrow(info: Any) -> sockets.socket:
        made = sockets.socket(info[0], info[1], info[2])
        made.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, 4096)
        made.setblocking(False)
        return made

    class Reader:
        async def __aenter__(self) -> Any:
            self.session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(socket_factory=narrow))
            headers = {"Authorization": f"Bearer {token(inbox.user_id)}"}
            return await self.session.ws_connect(gateway.url + "v1/stream", headers=headers)

        async def __aexit__(self, *_exc: object) -> None:
            await self.session.close()

    return Reader()


async def rest_of(reader: Any) -> tuple[int, int]:
    """The last sequence it was told, and its close code."""
    at = 0
    async with asyncio.timeout(20):
        while True:
            message = await reader.receive()
            if message.type is not WSMsgType.TEXT:
                return at, message.data
            at = max(at, message.json().get("sequence", 0))


async def test_a_gateway_that_stops_sends_everybody_away_each_for_another_time(redis: Redis, tmp_path: Path) -> None:
    async with a_gateway(redis, tmp_path, stream_drain="1s") as gateway:
        streams = [await gateway.socket(gateway.inbox().user_id) for _ in range(50)]
        for stream in streams:
            await stream.receive_json()
        await gateway.live.hub.drain()
        waits = []
        for stream in streams:
            frame = await stream.receive_json()
            assert frame["type"] == "bye"
            waits.append(frame["reconnect_ms"])
            assert (await stream.receive()).data == 1001
        assert len(set(waits)) > 25
        assert all(0 <= wait <= 1000 for wait in waits)


async def test_two_gateways_tell_the_same_and_a_client_may_change_between_them(redis: Redis, tmp_path: Path) -> None:
    async with a_gateway(redis, tmp_path) as one, a_gateway(redis, tmp_path) as two:
        inbox, at = one.inbox(), 0
        for _ in range(30):
            async with random.choice([one, two]).socket(inbox.user_id, after=at) as socket:
                assert await sequences(socket, 1) == [at]
                writing = asyncio.create_task(inbox.add(4))
                read = random.randint(0, 3)
                assert await sequences(socket, read) == list(range(at + 1, at + 1 + read))
                at += read
            await writing
        async with two.socket(inbox.user_id, after=at) as socket:
            assert await follow(socket, at, inbox.sequence) == (inbox.sequence - at, 0)
