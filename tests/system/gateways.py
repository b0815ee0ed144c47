"""Gateways as `notify gateway` starts them, any number on one port, beside engines that run already."""

import asyncio
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import aiohttp

from notify_streams.local.child import Child
from notify_streams.local.engines import LocalEngines
from notify_streams.local.free_ports import HOST, free_port
from notify_streams.settings import Settings, load
from tests.live_gateway import SECRET

ROOT = Path(__file__).parents[2]
_READY_S = 60.0


class Gateways:
    """They share a port by SO_REUSEPORT; each may be killed or stopped, and comes back when it is told to."""

    def __init__(
        self, directory: Path, engines: LocalEngines, count: int, extra: Mapping[str, str] | None = None
    ) -> None:
        self.port = free_port()
        found = replace(engines.addresses, gateway=self.port)
        self.environment = {
            **found.environment(),
            "NOTIFY_LOCAL__STATE": str(directory),
            "NOTIFY_GATEWAY__REUSE_PORT": "true",
            "NOTIFY_AUTH__KEYS_FILE": str(directory / "keys.json"),
            "NOTIFY_AUTH__JWT_SECRET": SECRET,
            "NOTIFY_AUTH__SIGNING_SECRET": SECRET,
            **(extra or {}),
        }
        self.settings: Settings = load(self.environment, cwd=directory)
        self.url = f"http://{HOST}:{self.port}"
        self.children = [self._child(directory, "gateway", number) for number in range(count)]

    def _child(self, directory: Path, name: str, number: int) -> Child:
        argv = [sys.executable, "-m", "notify_streams", name]
        return Child(argv, log=directory / "logs" / f"{name}-{number}.log", env=self.environment, cwd=ROOT)

    async def start(self) -> None:
        """Topics, schema, all of them; and until one answers that it is ready."""
        for words in (("topics", "create"), ("schema", "create")):
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "notify_streams", *words, env=self._children_environment(), cwd=ROOT
            )
            if await process.wait():
                raise RuntimeError(f"notify {' '.join(words)} failed")
        for child in self.children:
            await child.start()
        await self.ready()

    async def ready(self) -> None:
        """Raises TimeoutError when none is within a minute."""
        async with asyncio.timeout(_READY_S), aiohttp.ClientSession() as session:
            while True:
                try:
                    async with session.get(self.url + "/readyz") as response:
                        if response.status == 200:
                            return
                except aiohttp.ClientError:
                    pass
                await asyncio.sleep(0.2)

    async def stop(self) -> None:
        """All of them."""
        await asyncio.gather(*(child.stop(20) for child in self.children))

    def _children_environment(self) -> dict[str, str]:
        return {**os.environ, **self.environment}
