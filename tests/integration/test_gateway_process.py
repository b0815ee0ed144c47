"""`notify gateway` as it is started in earnest: a process on all three engines."""

import asyncio
import os
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

import aiohttp
import pytest

from notify_streams import settings
from tests.wire.gateway_parts import an_event


@pytest.fixture
def environment(
    kafka: settings.Kafka, cassandra: settings.Cassandra, redis: settings.Redis, tmp_path: Path
) -> dict[str, str]:
    """Settings by environment, with topics, a keyspace and a port of its own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    mark = uuid4().hex[:8]
    return {
        **os.environ,
        "NOTIFY_KAFKA__BOOTSTRAP": kafka.bootstrap,
        "NOTIFY_KAFKA__PREFIX": f"gwp-{mark}.",
        "NOTIFY_CASSANDRA__HOSTS": f'["{cassandra.hosts[0]}"]',
        "NOTIFY_CASSANDRA__PORT": str(cassandra.port),
        "NOTIFY_CASSANDRA__KEYSPACE": f"gwp_{mark}",
        "NOTIFY_REDIS__URL": redis.url,
        "NOTIFY_AUTH__KEYS_FILE": str(tmp_path / "keys.json"),
        "NOTIFY_GATEWAY__PORT": str(port),
    }


async def shell(environment: Mapping[str, str], *words: str) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "notify_streams", *words, env=environment, stdout=PIPE, stderr=PIPE
    )
    out, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return out.decode().strip()


async def test_it_serves_shows_and_stops(environment: dict[str, str]) -> None:
    await shell(environment, "topics", "create")
    await shell(environment, "schema", "create")
    secret = await shell(environment, "keys", "create", "shop", "--role", "operator")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "notify_streams", "gateway", env=environment, stdout=DEVNULL, stderr=PIPE
    )
    url, headers = f"http://127.0.0.1:{environment['NOTIFY_GATEWAY__PORT']}", {"Authorization": f"Bearer {secret}"}
    async with aiohttp.ClientSession(url, headers=headers) as session:
        await _ready(session)
        event = an_event(data={"recipients": ["pia"], "payload": {"order": "1", "total": "9 EUR"}})
        async with session.post("/v1/events", json=event) as response:
            assert response.status == 202, await response.text()
            id_ = (await response.json())["notifications"][0]["notification_id"]
        async with session.get(f"/v1/notifications/{id_}") as response:
            assert (response.status, (await response.json())["state"]) == (200, "accepted")
        async with session.get("/v1/users/pia/inbox") as response:
            assert (response.status, await response.json()) == (200, {"items": [], "next": None})
        async with session.get("/v1/users/pia/preferences") as response:
            assert (response.status, response.headers["ETag"]) == (200, '"0"')
        over_http = await shell(
            environment, "send", "order.confirmed", "--to", "pia", "--payload", '{"order":"1","total":"9 EUR"}',
            "--url", url, "--key", secret,
        )  # fmt: skip
        assert '"user_id": "pia"' in over_http
    process.send_signal(signal.SIGTERM)
    _, errors = await asyncio.wait_for(process.communicate(), 20)
    assert process.returncode == 0, errors.decode()


async def _ready(session: aiohttp.ClientSession) -> None:
    async with asyncio.timeout(40):
        while True:
            try:
                async with session.get("/readyz") as response:
                    if response.status == 200:
                        return
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.1)
