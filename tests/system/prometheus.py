"""A real Prometheus with the configuration and rules that the repository ships, on the processes of a whole system."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from notify_streams.local.child import Child
from notify_streams.local.free_ports import HOST, free_port

CONFIG = Path(__file__).parents[2] / "docker" / "prometheus"
_START_S = 20.0


class Prometheus:
    """Asks what it knows."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def ask(self, path: str, **query: str) -> Any:
        """The `data` of one of its answers."""
        async with self._session.get(f"/api/v1/{path}", params=query) as response:
            return (await response.json())["data"]

    async def states(self) -> dict[str, str]:
        """What went wrong with each target when it was asked last; nothing where it answered."""
        found = (await self.ask("targets"))["activeTargets"]
        return {
            one["scrapeUrl"]: "" if one["health"] == "up" else f"{one['health']}: {one['lastError']}" for one in found
        }

    async def value(self, expression: str) -> float | None:
        """What an expression that has one value, or none, comes to now."""
        result = (await self.ask("query", query=expression))["result"]
        return float(result[0]["value"][1]) if result else None


@asynccontextmanager
async def a_prometheus(directory: Path, urls: Mapping[str, str], *, key: str) -> AsyncIterator[Prometheus]:
    """Running, with the programs behind `urls` as its targets; it asks every second; `key` is an operator's."""
    (directory / "targets").mkdir(parents=True)
    config = (CONFIG / "prometheus.yml").read_text().replace("_interval: 15s", "_interval: 1s")
    (directory / "prometheus.yml").write_text(config)
    shutil.copy(CONFIG / "notify.rules.yml", directory)
    (directory / "gateway.key").write_text(key)
    for job, names in (("gateway", {"gateway"}), ("workers", set(urls) - {"gateway", "simulator"})):
        targets = [{"targets": sorted(urls[name].removeprefix("http://") for name in names)}]
        (directory / "targets" / f"{job}.json").write_text(json.dumps(targets))
    port = free_port()
    command = ["prometheus", f"--config.file={directory / 'prometheus.yml'}", "--log.level=warn"]
    command += [f"--storage.tsdb.path={directory / 'data'}", f"--web.listen-address={HOST}:{port}"]
    child = Child(command, log=directory / "prometheus.log")
    await child.start()
    try:
        async with aiohttp.ClientSession(f"http://{HOST}:{port}") as session:
            await asyncio.wait_for(_ready(session), _START_S)
            yield Prometheus(session)
    finally:
        await child.kill()


async def _ready(session: aiohttp.ClientSession) -> None:
    while True:
        try:
            async with session.get("/-/ready") as response:
                if response.status == 200:
                    return
        except aiohttp.ClientError:
            pass  # not yet: whoever waits has a limit
        await asyncio.sleep(0.05)
