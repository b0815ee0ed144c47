"""`scripts/chaos gateway`: gateways killed, stopped and started again under thousands of streams with a steady flow."""

import asyncio
import itertools
import json
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import aiohttp
import msgspec
from rich.console import Console
from rich.table import Table

from notify_streams.local.engines import LocalEngines
from notify_streams.stores.redis import Expendable
from tests.chaos.stream_clients import Heard, Listener
from tests.live_gateway import Inbox, Stored
from tests.system.gateways import Gateways

_LOOK_S = 0.2


class Plan(msgspec.Struct, frozen=True):
    """`each` is how often a gateway is killed, and how often one is stopped in order."""

    connections: int = 2_000
    gateways: int = 3
    items_per_s: int = 300
    each: int = 4
    pause_s: float = 6.0
    settle_s: float = 60.0


QUICK = Plan(connections=500, each=1, pause_s=4.0)


class Act(msgspec.Struct, frozen=True):
    """What was done to a gateway, and how those who were connected came back."""

    what: str
    lost: int
    peak_per_s: int
    back_s: float | None


class Found(msgspec.Struct, frozen=True):
    """The whole account. `behind` are clients that did not come to the end of their inbox."""

    plan: Plan
    acts: list[Act]
    items: int
    told: int
    faults: list[str]
    behind: int
    resets: int
    refused: dict[str, int]
    ended: dict[str, int]

    @property
    def ok(self) -> bool:
        """No gap, no repeat, no reset, nobody left behind; everybody came back after every act."""
        whole = self.told == self.items and not (self.faults or self.behind or self.resets)
        return whole and all(act.back_s is not None for act in self.acts)


class Streams:
    """One run."""

    def __init__(self, place: Path, engines: LocalEngines, plan: Plan, say: Callable[[str], None]) -> None:
        extra = {"NOTIFY_GATEWAY__STREAM_DRAIN": "5s"}
        self.gateways = Gateways(place, engines, plan.gateways, extra)
        self.plan, self.say, self.heard = plan, say, Heard()
        self.redis, stored = Expendable(self.gateways.settings.redis), Stored()
        self.inboxes = [Inbox(f"user-{number}", self.redis, stored) for number in range(plan.connections)]
        self.listeners = [Listener(self.gateways.url, box.user_id, self.heard) for box in self.inboxes]

    async def run(self) -> Found:
        """Act for act."""
        await self.gateways.start()
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:
            tasks = [asyncio.create_task(one.run(session)) for one in self.listeners]
            flow = asyncio.create_task(self._flow())
            try:
                await self._all_back()
                acts = await self._acts()
                flow.cancel()
                await asyncio.gather(flow, return_exceptions=True)
                await self._caught_up()
                return self._found(acts)
            finally:
                for task in (flow, *tasks):
                    task.cancel()
                await asyncio.gather(flow, *tasks, return_exceptions=True)
                await self.gateways.stop()
                await self.redis.close()

    async def _acts(self) -> list[Act]:
        kinds = [signal.SIGKILL, signal.SIGTERM] * self.plan.each
        return [await self._act(number, kind) for number, kind in enumerate(kinds)]

    async def _act(self, number: int, kind: signal.Signals) -> Act:
        child = self.gateways.children[number % self.plan.gateways]
        began, before = time.monotonic(), self.heard.connects.copy()
        if kind is signal.SIGKILL:
            await child.kill()
        else:
            await child.stop(20)
        lost = sum(not one.connected for one in self.listeners)
        await asyncio.sleep(1.0)
        await child.start()
        back = await self._all_back(since=began)
        await asyncio.sleep(self.plan.pause_s)
        again = self.heard.connects - before
        peak, lost = max(again.values(), default=0), max(lost, again.total())
        act = Act("killed" if kind is signal.SIGKILL else "stopped", lost, peak, back)
        self.say(f"{act.what}: {act.lost} connections, at most {act.peak_per_s} back in a second, all after {back} s")
        return act

    async def _all_back(self, since: float | None = None) -> float | None:
        began = time.monotonic() if since is None else since
        while time.monotonic() - began < self.plan.settle_s:
            if all(one.connected for one in self.listeners):
                return round(time.monotonic() - began, 1)
            await asyncio.sleep(_LOOK_S)
        return None

    async def _flow(self) -> None:
        """Items for everybody in turn, in a new order each time."""
        for _ in itertools.count():
            for box in random.sample(self.inboxes, len(self.inboxes)):
                await box.add()
                await asyncio.sleep(1 / self.plan.items_per_s)

    async def _caught_up(self) -> None:
        for _ in range(round(self.plan.settle_s / _LOOK_S)):
            if not self._behind():
                return
            await asyncio.sleep(_LOOK_S)

    def _behind(self) -> int:
        return sum(one.at != box.sequence for one, box in zip(self.listeners, self.inboxes, strict=True))

    def _found(self, acts: list[Act]) -> Found:
        heard = self.heard
        return Found(
            plan=self.plan,
            acts=acts,
            items=sum(box.sequence for box in self.inboxes),
            told=heard.told,
            faults=heard.faults,
            behind=self._behind(),
            resets=heard.resets,
            refused=dict(heard.refused),
            ended=dict(heard.ended),
        )


def show(found: Found, console: Console) -> int:
    """A table, then the JSON line; the exit code."""
    table = Table(title="chaos gateway", title_justify="left")
    for column in ("gateway", "connections lost", "most back in a second", "all back after"):
        table.add_column(column, justify="right")
    for act in found.acts:
        back = "never" if act.back_s is None else f"{act.back_s:.1f} s"
        table.add_row(act.what, str(act.lost), str(act.peak_per_s), back)
    console.print(table)
    console.print(
        f"{found.items:,} items to {found.plan.connections:,} streams on {found.plan.gateways} gateways: "
        f"{found.told:,} told once and in order, {found.resets} resets, {found.behind} streams behind"
    )
    console.print(f"how streams ended: {found.ended}; connects that failed: {found.refused}", style="dim")
    for fault in found.faults[:20]:
        console.print(f"wrong: {fault}", style="bold red")
    summary = {
        "chaos": "gateway",
        "connections": found.plan.connections,
        "items": found.items,
        "told": found.told,
        "gaps_or_repeats": len(found.faults),
        "resets": found.resets,
        "behind": found.behind,
        "peak_connects_per_s": max(act.peak_per_s for act in found.acts),
        "ok": found.ok,
    }
    print(json.dumps(summary), flush=True)
    return 0 if found.ok else 1
