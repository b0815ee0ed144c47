"""`scripts/bench timers`: a million that wait; put, left alone, released at a steady rate, and all of them at once."""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from notify_streams.settings import Settings
from notify_streams.streaming import topics
from tests.bench import kafka
from tests.bench.lab import Lab
from tests.bench.latencies import percentile
from tests.bench.processes import Looks, looking
from tests.bench.report import Figures, Report, Row
from tests.bench.timer_load import LANE_SHARES, Released, pending, read_back, steadily
from tests.bench.usage import Stalled, Usage, watch

COUNT, QUICK_COUNT, PREFIX = 1_000_000, 100_000, "bench."
STEADY_RATE, PROBE_RATE = 500.0, 50.0
IDLE_S, STEADY_S, QUICK_S = 20.0, 30.0, 10.0
EXPECTED_PER_S, MARGIN_S = 12_000, 10.0  # so long in advance they are put
FLOORS: Figures = {"insert_per_s": 15_000, "release_per_s": 25_000}
CEILINGS: Figures = {
    "steady_late_p99_ms": 500,
    "idle_core": 0.05,
    "lost": 0,
    "early": 0,
    "lanes_mixed_ms": 500,
    "put_during_release_p99_ms": 2000,
}
_LIMIT_S = 600.0


class Measured(msgspec.Struct, frozen=True):
    """What each part of the run came to. `due_at` (ms) is when all of the first ones were due."""

    count: int
    due_at: int
    inserting: Usage
    idle: Looks
    steady: Looks
    releasing: Looks
    released: list[Released]


async def run(lab: Lab, *, quick: bool) -> Report:
    """Put `COUNT` timers that are due at one instant; measure until then, and what comes of that instant."""
    count = QUICK_COUNT if quick else COUNT
    idle_s, steady_s = (QUICK_S, QUICK_S) if quick else (IDLE_S, STEADY_S)
    config = lab.settings(PREFIX)
    await lab.provision(config)
    filling_s, ready_s = await _filling_takes(config), 10.0
    due_at = _now() + round(
        1000 * (count * filling_s + ready_s + count / EXPECTED_PER_S + idle_s + steady_s + MARGIN_S)
    )
    await kafka.fill(config.kafka.bootstrap, PREFIX + topics.TIMERS, pending(config.kafka, count, due_at))
    pid = await lab.start("scheduler", [str(Path(sys.executable).with_name("notify")), "worker", "scheduler"], config)
    pids = {"scheduler": pid, "kafka": lab.engines.pids["kafka"]}
    async with kafka.ends(config.kafka.bootstrap, PREFIX + topics.TIMERS_LOG, config.kafka.partitions) as log:
        inserting = await watch(count, lambda: _halved(log.total), pids, limit_s=_LIMIT_S)
    if (_now() - due_at) / 1000 > -(idle_s + steady_s):
        raise Stalled(f"{count:,} timers took so long to put that they are due before anything else can be measured")
    idle = await _looking(pids, lambda: asyncio.sleep(idle_s))
    steady = await _looking(pids, lambda: steadily(config.kafka, "steady", STEADY_RATE, until=_now() + steady_s * 1000))
    await asyncio.sleep(max(0.0, (due_at - _now()) / 1000))
    releasing = await _looking(pids, lambda: _all_released(config, count, round(STEADY_RATE * steady_s)))
    await asyncio.sleep(1.0)
    await lab.stop_workers()
    return _report(Measured(count, due_at, inserting, idle, steady, releasing, await read_back(config.kafka)))


async def _filling_takes(config: Settings) -> float:
    """Seconds for one record, by a few on a topic that nobody reads; the first find topics that are still new."""
    for some in (100, 20_000):
        began = time.monotonic()
        await kafka.fill(config.kafka.bootstrap, PREFIX + topics.RECEIPTS, pending(config.kafka, some, _now()))
    return 1.3 * (time.monotonic() - began) / some


async def _halved(ends: Callable[[], Awaitable[int]]) -> int:
    """A timer is two records of the changelog."""
    return await ends() // 2


async def _looking(pids: dict[str, int], work: Callable[[], Awaitable[object]]) -> Looks:
    async with looking(lambda: pids) as looks:
        await work()
    return looks


async def _all_released(config: Settings, count: int, before: int) -> None:
    """Wait until that many more came back than before; meanwhile HIGH ones are put that are due at once."""
    until, came = _now() + 1000 * _LIMIT_S, 0
    done = asyncio.Event()
    probing = asyncio.create_task(steadily(config.kafka, "probe", PROBE_RATE, until=until, stop=done, ahead_ms=0))
    async with kafka.ends(config.kafka.bootstrap, PREFIX + topics.events("low"), config.kafka.partitions) as low:
        wanted = round(LANE_SHARES["low"] * count)
        while came < wanted:
            if _now() > until:
                raise Stalled(f"{came:,} of {wanted:,} LOW timers came back, with {before:,} before them")
            await asyncio.sleep(0.1)
            came = await low.total()
    done.set()
    await probing


def _report(run: Measured) -> Report:
    figures = _figures(run)
    looks = {"idle": run.idle, "steady 500/s": run.steady, "all due at once": run.releasing}
    rows = [
        Row("put", _cells(figures["insert_per_s"], run.inserting.core("scheduler"), figures["insert_mib"])),
        *(
            Row(name, _cells(figures["release_per_s"] if one is run.releasing else None, _core(one), _mib(one)))
            for name, one in looks.items()
        ),
    ]
    return Report(
        bench="timers",
        columns=("timers/s", "of a core", "MiB"),
        rows=tuple(rows),
        figures=figures,
        floors=FLOORS,
        ceilings=CEILINGS,
        notes=(
            f"{run.count:,} timers with a payload of 350 bytes, due at one instant: {figures['lost']:.0f} lost, "
            f"{figures['repeated']:.0f} twice, {figures['early']:.0f} early; released in {figures['release_s']:.1f} s.",
            f"Lateness by the broker's append time: at a steady {STEADY_RATE:.0f}/s p50 "
            f"{figures['steady_late_p50_ms']:.0f}, p99 {figures['steady_late_p99_ms']:.0f} ms; of HIGH ones put "
            f"in the midst of the great release p50 {figures['put_during_release_p50_ms']:.0f}, "
            f"p99 {figures['put_during_release_p99_ms']:.0f} ms.",
            "Lanes, of the great release: "
            + ", ".join(
                f"{lane} from {figures[f'{lane}_from_s']:.2f} to {figures[f'{lane}_to_s']:.2f} s"
                for lane in LANE_SHARES
            )
            + f"; a lower lane overtook a higher one by at most {figures['lanes_mixed_ms']:.0f} ms.",
            f"CPU of the scheduler per timer: put {figures['insert_cpu_us']:.0f} µs, "
            f"release {figures['release_cpu_us']:.0f} µs.",
        ),
    )


def _figures(run: Measured) -> Figures:
    great = [one for one in run.released if one.series == "great"]
    distinct = {one.number for one in great}
    seconds = (max(one.at for one in great) - run.due_at) / 1000
    figures: Figures = {
        "insert_per_s": run.inserting.rate,
        "insert_cpu_us": run.inserting.micros("scheduler"),
        "insert_mib": run.inserting.peak_bytes["scheduler"] / 2**20,
        "idle_core": _core(run.idle),
        "release_s": seconds,
        "release_per_s": len(great) / seconds,
        "release_cpu_us": run.releasing.cpu("scheduler") / len(great) * 1e6,
        "peak_mib": max(_mib(run.idle), _mib(run.steady), _mib(run.releasing)),
        "lost": run.count - len(distinct),
        "repeated": len(great) - len(distinct),
        "early": sum(one.at < one.due_at for one in run.released),
    }
    for series, name in (("steady", "steady_late"), ("probe", "put_during_release")):
        late = [one.at - one.due_at for one in run.released if one.series == series]
        figures |= {f"{name}_p{p}_ms": percentile(late, p / 100) for p in (50, 99)}
    return figures | _lanes(great, run.due_at)


def _lanes(great: list[Released], due_at: int) -> Figures:
    """When each lane came, and by how much a lower one was ahead of the end of the one above it."""
    spans = {lane: [one.at for one in great if one.lane == lane] for lane in LANE_SHARES}
    figures: Figures = {"lanes_mixed_ms": 0.0}
    above = 0
    for lane, times in spans.items():
        figures |= {f"{lane}_from_s": (min(times) - due_at) / 1000, f"{lane}_to_s": (max(times) - due_at) / 1000}
        figures["lanes_mixed_ms"] = max(figures["lanes_mixed_ms"], above - min(times))
        above = max(above, *times)
    return figures


def _cells(rate: float | None, core: float, mib: float) -> tuple[str, ...]:
    return "" if rate is None else f"{rate:,.0f}", f"{core:.1%}", f"{mib:.0f}"


def _core(looks: Looks) -> float:
    return looks.cpu("scheduler") / looks.seconds


def _mib(looks: Looks) -> float:
    return looks.peak("scheduler")


def _now() -> int:
    return time.time_ns() // 1_000_000
