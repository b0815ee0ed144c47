"""The demo and its simulator: where people are reached, the trouble they meet, what was posted of them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import msgspec
import pytest

from notify_streams.domain.answers import EndpointGone, Sent, TryLater
from notify_streams.local.demo.api import ApiError
from notify_streams.local.demo.people import DEAD_DEVICES, FAILING_OVER, users
from notify_streams.local.demo.trouble import Simulator
from notify_streams.providers.simulator.serve import Ports, Running, start
from tests.every_protocol import Told, a_gateway, sent


@pytest.fixture
async def gateway() -> AsyncIterator[Told]:
    async with a_gateway() as told:
        yield told


@pytest.fixture
async def running(tmp_path: Path, gateway: Told) -> AsyncIterator[Running]:
    running = await start(Ports(), log=tmp_path / "log.jsonl", credentials=tmp_path / "keys", receipts_to=gateway.url)
    yield running
    await running.close()


@pytest.fixture
async def simulator(running: Running) -> AsyncIterator[Simulator]:
    async with aiohttp.ClientSession() as http:
        yield Simulator(http, f"http://127.0.0.1:{running.http_port}")


async def test_a_dead_device_is_gone_and_a_busy_provider_takes_the_second_call(
    running: Running, simulator: Simulator
) -> None:
    await simulator.prepare()
    for name, tokens in DEAD_DEVICES.items():
        assert isinstance((await sent(running, name, tokens[0]))[1], EndpointGone)
    first, second = [(await sent(running, "ses", FAILING_OVER[0]))[1] for _ in range(2)]
    assert isinstance(first, TryLater)
    assert isinstance(second, Sent)


async def test_browsers_and_servers_of_the_demo_are_the_simulators(running: Running, simulator: Simulator) -> None:
    people = await simulator.reached(users())
    by_channel = {(e["channel"], e.get("platform")): e["address"] for user in people for e in user["endpoints"]}
    assert isinstance((await sent(running, "webpush", by_channel["push", "web"]))[1], Sent)
    assert isinstance((await sent(running, "webhook", by_channel["webhook", None]))[1], Sent)
    assert msgspec.json.decode(by_channel["push", "web"])["endpoint"].startswith(simulator.url)


async def test_receipts_are_counted_by_provider_once_they_were_taken(running: Running, simulator: Simulator) -> None:
    await sent(running, "sendgrid")
    async with asyncio.timeout(10):
        while (said := await simulator.posted()) != ({"sendgrid": 1}, 0):  # noqa: ASYNC110 -- counts say no more
            await asyncio.sleep(0.05)
    assert said[0].total() == 1


async def test_a_simulator_that_does_not_answer_ends_the_demo_with_its_address(
    running: Running, simulator: Simulator
) -> None:
    await running.close()
    with pytest.raises(ApiError, match=simulator.url):
        await simulator.prepare()
