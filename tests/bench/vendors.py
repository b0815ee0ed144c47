"""Vendors for a benchmark: the simulator in a process of its own, what it counted, and addresses that it knows."""

import asyncio
import json
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import aiohttp
import psutil

from tests.bench.lab import Lab
from tests.bench.usage import Stalled

PLATFORMS = {"fcm": "android", "apns": "ios", "webpush": "web"}
_NOTIFY = str(Path(sys.executable).with_name("notify"))
_STARTS_S, _SUBSCRIPTIONS = 30.0, 200


class Vendors:
    """A running simulator. `providers` are the sections of settings under which senders use it."""

    def __init__(self, pid: int, log: Path, providers: Mapping[str, Mapping[str, Any]]) -> None:
        self.pid, self.log, self.providers = pid, log, providers
        parts = urlsplit(str(providers["fcm"]["url"]))
        self.url = f"{parts.scheme}://{parts.netloc}"
        self._http: aiohttp.ClientSession | None = None
        self._subscriptions: list[str] = []

    @classmethod
    async def start(cls, lab: Lab) -> Self:
        """On free ports; without receipts."""
        log, keys = lab.directory / "taken.jsonl", lab.directory / "keys"
        words = ("providers", "simulate", "--smtp-port", "0", "--http-port", "0", "--apns-port", "0")
        options = ("--log", str(log), "--credentials", str(keys), "--receipts-to", "")
        pid = await lab.start("simulator", [_NOTIFY, *words, *options], lab.settings("none."))
        started = time.monotonic()
        while not (keys / "settings.toml").exists():
            if time.monotonic() - started > _STARTS_S:
                raise Stalled("the simulator does not start")
            await asyncio.sleep(0.1)
        await asyncio.sleep(0.5)  # the file is written at once, but not in one step
        vendors = cls(pid, log, tomllib.loads((keys / "settings.toml").read_text())["providers"])
        vendors._http = aiohttp.ClientSession(vendors.url)
        for number in range(_SUBSCRIPTIONS):
            async with vendors._http.post("/webpush/subscribe", json={"name": f"browser-{number}"}) as response:
                vendors._subscriptions.append(await response.text())
        return vendors

    async def close(self) -> None:
        """The process ends with the lab."""
        if self._http is not None:
            await self._http.close()

    async def weather(self, provider: str, **weather: float) -> None:
        """For everybody, from now on."""
        assert self._http is not None
        async with self._http.put("/weather", json={"provider": provider, **weather}) as response:
            response.raise_for_status()

    async def forget(self) -> None:
        """The log is empty, and the weather fine."""
        assert self._http is not None
        for path in ("/log", "/script"):
            async with self._http.delete(path) as response:
                response.raise_for_status()

    async def taken(self, provider: str) -> int:
        """Messages that were answered as taken."""
        assert self._http is not None
        async with self._http.get("/counts") as response:
            counts = await response.json()
        return int(counts["providers"].get(provider, {}).get("accepted", 0))

    def connections(self) -> int:
        """Open ones to all of its ports, ours among them."""
        found = psutil.Process(self.pid).net_connections("tcp")
        return sum(one.status == psutil.CONN_ESTABLISHED for one in found)

    def address(self, provider: str, number: int) -> str:
        """One that the provider takes."""
        match provider:
            case "fcm":
                return f"device-{number:08d}:" + "f" * 48
            case "apns":
                return f"{number:064x}"
            case "webpush":
                return self._subscriptions[number % len(self._subscriptions)]
            case "twilio":
                return f"+4474001{number % 100_000:05d}"
            case "webhook":
                return f"{self.url}/hooks/{number}"
            case _:
                return f"user-{number:06d}@example.com"


def by_delivery(log: Path) -> dict[tuple[str, str], Counter[str]]:
    """What the exact log says of each delivery, by provider and id: how often it was taken, refused, dropped.

    A text says its id only where there is an address for callbacks: then it is known by its number.
    """
    found: dict[tuple[str, str], Counter[str]] = {}
    for line in log.read_bytes().splitlines():
        entry = json.loads(line)
        key = entry.get("provider", "smtp"), entry.get("delivery_id") or entry["to"]
        found.setdefault(key, Counter())[entry["event"]] += 1
    return found
