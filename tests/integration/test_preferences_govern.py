"""Preferences on the real system: what was answered holds, is kept, and is what decides."""

import asyncio
import json
import os
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import pytest
from redis.asyncio import Redis

from notify_streams import bootstrap
from notify_streams.domain.checks import mandatory_categories
from notify_streams.local.engines import LocalEngines
from notify_streams.local.programs import NOTIFY
from schemas.words import Channel
from tests.chaos.preferences import ROLES, Minds, Plan
from tests.system.whole import Whole

_READY_S = 60.0
ANN = f"ann-{uuid4().hex[:8]}"  # whom no other test has met


@pytest.fixture
async def extra(engines: LocalEngines) -> dict[str, str]:
    """Running engines, and names on them that nobody else has."""
    await engines.start("kafka", "cassandra", "redis")
    mark = uuid4().hex[:8]
    return {
        "NOTIFY_KAFKA__PREFIX": f"prf-{mark}.",
        "NOTIFY_CASSANDRA__KEYSPACE": f"prf_{mark}",
        "NOTIFY_REDIS__URL": f"{(engines.addresses.redis or '').rpartition('/')[0]}/9",
    }


@pytest.fixture
async def whole(engines: LocalEngines, extra: dict[str, str], tmp_path: Path) -> AsyncIterator[Whole]:
    system = Whole(tmp_path, engines, extra=extra, roles=ROLES)
    await system.start()
    yield system
    await system.stop()


async def test_a_change_that_was_answered_governs_what_is_accepted_later_whatever_is_killed(
    engines: LocalEngines, extra: dict[str, str], tmp_path: Path
) -> None:
    plan = Plan(users=20, rounds=6, kills=1, stop_s=0, pause_s=0.5, twice=False, wipe_first=True)
    found = await Minds(tmp_path, engines, plan, lambda _: None, extra=extra).run()
    assert found.faults == []
    assert found.rounds >= 120
    assert found.agreement.counts["by the setting in force"] >= 60


async def test_every_cell_reads_back_as_written_before_and_after_a_restart(whole: Whole) -> None:
    """PRF-09, PRF-02, PRF-06."""
    catalogue = bootstrap.catalogue(whole.settings)
    async with aiohttp.ClientSession(whole.urls["gateway"]) as http:
        _, defaults = await _preferences(http)
        locked = mandatory_categories(catalogue)
        cells = [(name, c) for name, cs in defaults["categories"].items() if name not in locked for c in cs]
        switches: list[tuple[list[str], dict[str, Any]]]
        switches = [([c], {"channels": {c: False}}) for c in defaults["channels"]]
        switches += [([name, c], {"categories": {name: {c: False}}}) for name, c in cells]
        for at, (_, body) in enumerate(switches, 1):
            answered, shown = await _preferences(http, body), await _preferences(http)
            assert answered[0] == 200
            assert _off(shown[1]) == sorted(path for path, _ in switches[:at]), (answered, shown)
        for body in ({"categories": {"security": {"email": False}}}, {"channels": {"fax": False}}):
            assert (await _preferences(http, body))[0] == 422
        before = await _preferences(http)
    await _restarted(whole, "orchestrator", "gateway")
    await _forgotten(whole)
    async with aiohttp.ClientSession(whole.urls["gateway"]) as http:
        assert await _preferences(http) == before
        assert await _shown_by_the_shell(whole) == before[1]
        await _flipped_back(http, cells, catalogue.channels)


async def _flipped_back(
    http: aiohttp.ClientSession, cells: list[tuple[str, str]], channels: tuple[Channel, ...]
) -> None:
    """On again, one by one: what the orchestrator kept is what it changes."""
    for name, channel in cells:
        status, body = await _preferences(http, {"categories": {name: {channel: True}}})
        assert (status, body["categories"][name][channel]) == (200, True)
    assert _off((await _preferences(http))[1]) == sorted([channel] for channel in channels)


async def _restarted(whole: Whole, *names: str) -> None:
    """Killed, and started again by the fleet."""
    await asyncio.gather(*(whole.fleet.kill(name) for name in names))
    await asyncio.sleep(0.5)
    await whole.fleet.ready(limit_s=_READY_S)


async def _shown_by_the_shell(whole: Whole) -> Any:
    command = (*NOTIFY, "preferences", "show", ANN, "--json")
    process = await asyncio.create_subprocess_exec(
        *command, env={**os.environ, **whole.environment}, cwd=whole.directory, stdout=PIPE
    )
    out, _ = await process.communicate()
    return json.loads(out)


async def _forgotten(whole: Whole) -> None:
    """The cache is expendable."""
    client = Redis.from_url(whole.settings.redis.url)
    await client.flushdb()
    await client.aclose()


async def _preferences(http: aiohttp.ClientSession, body: dict[str, Any] | None = None) -> tuple[int, Any]:
    """GET, or PATCH with a body; repeated while it is not confirmed."""
    method = "GET" if body is None else "PATCH"
    while True:
        async with http.request(method, f"/v1/users/{ANN}/preferences", json=body) as response:
            if response.status not in (202, 503):
                return response.status, json.loads(await response.read())
        await asyncio.sleep(0.2)


def _off(body: Any) -> list[list[str]]:
    cells = [[name, c] for name, switches in body["categories"].items() for c, on in switches.items() if not on]
    return sorted([*cells, *([c] for c, on in body["channels"].items() if not on)])
