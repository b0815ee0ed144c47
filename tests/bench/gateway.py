"""`scripts/bench gateway`: one gateway process: memory of idle streams, publish to socket, lists, events."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import orjson
import psutil

from notify_streams.gateway import keys as key_files
from notify_streams.gateway.keys import Key
from notify_streams.local.child import Child
from notify_streams.local.free_ports import HOST
from notify_streams.stores.redis import Expendable
from tests.bench import gateway_http
from tests.bench.gateway_http import Answers
from tests.bench.lab import ROOT, Lab
from tests.bench.latencies import percentile
from tests.bench.report import Figures, Report, Row
from tests.bench.usage import Stalled
from tests.live_gateway import Inbox, Stored
from tests.system.gateways import Gateways

IDLE, QUICK_IDLE = 18_000, 3_000
LIVE, RATE, SECONDS, QUICK_SECONDS = 5_000, 1_000, 20, 5
_CONNECTS_PER_S = 600
_SETTLED_S = 5.0


async def run(lab: Lab, *, quick: bool) -> Report:
    """A gateway with nobody, then with the crowd, then with traffic."""
    gateways = Gateways(lab.directory, lab.engines, 1)
    secret = key_files.new_secret()
    key_files.create(
        Path(gateways.settings.auth.keys_file), Key(name="bench", role="producer", hash="", rate=10**6), secret
    )
    figures: Figures = {}
    try:
        await gateways.start()
        figures |= await _idle(gateways, QUICK_IDLE if quick else IDLE)
        figures |= await _live(gateways, QUICK_SECONDS if quick else SECONDS)
        seconds = QUICK_SECONDS if quick else 2 * QUICK_SECONDS
        figures |= _of("list", await gateway_http.lists(gateways.port, seconds))
        figures |= _of("event", await gateway_http.events(gateways.port, secret, seconds))
        figures |= _of("batch", await gateway_http.batches(gateways.port, secret, seconds))
        figures["batched_per_s"] = figures["batch_per_s"] * gateway_http.BATCH
        return _report(figures)
    except Stalled as error:
        raise Stalled(f"{error}; the gateway says:\n{gateways.children[0].tail()}") from error
    finally:
        await gateways.stop()


async def _idle(gateways: Gateways, count: int) -> Figures:
    process = psutil.Process(_pid(gateways.children[0]))
    before = process.memory_info().rss
    async with _crowds(gateways.port, count) as crowds:
        await asyncio.sleep(_SETTLED_S)
        each = (process.memory_info().rss - before) / count
        cpu = process.cpu_times()
        await asyncio.sleep(_SETTLED_S)
        used = process.cpu_times()
        connected = sum([(await _told(crowd)).connected for crowd in crowds])
    if connected != count:
        raise Stalled(f"{connected} of {count} streams are open")
    core = (used.user + used.system - cpu.user - cpu.system) / _SETTLED_S
    return {"idle_connections": count, "idle_kb": each / 1024, "idle_core": core}


async def _live(gateways: Gateways, seconds: float) -> Figures:
    redis, stored = Expendable(gateways.settings.redis), Stored()
    boxes = [Inbox(f"user-{number}", redis, stored) for number in range(LIVE)]
    async with _crowds(gateways.port, LIVE) as crowds:
        published = await gateway_http.publish(boxes, RATE, seconds)
        await asyncio.sleep(1.0)
        lags = [lag for crowd in crowds for lag in (await _told(crowd)).lags_ms]
    await redis.close()
    if len(lags) != published:
        raise Stalled(f"{len(lags)} of {published} items came")
    return {
        "live_per_s": published / seconds,
        "live_p50_ms": percentile(lags, 0.5),
        "live_p99_ms": percentile(lags, 0.99),
    }


class Told(msgspec.Struct):
    """What a crowd says of itself."""

    connected: int
    lags_ms: list[float]


async def _told(crowd: asyncio.subprocess.Process) -> Told:
    assert crowd.stdin is not None
    assert crowd.stdout is not None
    crowd.stdin.write(b"\n")
    return msgspec.convert(orjson.loads(await crowd.stdout.readline()), Told)


@asynccontextmanager
async def _crowds(port: int, count: int) -> AsyncIterator[list[asyncio.subprocess.Process]]:
    """Two processes with half of the streams each; a process may have 20,000 files, and a source address as many."""
    half = count // 2
    crowds = [await _crowd(port, number * half, half, f"127.0.0.{number + 2}") for number in range(2)]
    try:
        for crowd in crowds:
            assert crowd.stdout is not None
            if await crowd.stdout.readline() != b"ready\n":
                raise Stalled("a crowd did not connect")
        yield crowds
    finally:
        for crowd in crowds:
            assert crowd.stdin is not None
            crowd.stdin.close()
        await asyncio.gather(*(crowd.wait() for crowd in crowds))


async def _crowd(port: int, first: int, count: int, source: str) -> asyncio.subprocess.Process:
    words = [str(word) for word in (port, first, count, source, _CONNECTS_PER_S / 2)]
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.bench.crowd",
        *words,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(ROOT),
        limit=64 * 1024 * 1024,
    )


def _pid(child: Child) -> int:
    if child.pid is None:
        raise Stalled(f"the gateway on {HOST} has ended")
    return child.pid


def _of(name: str, answers: Answers) -> Figures:
    return {f"{name}_per_s": answers.rate, f"{name}_p99_ms": percentile(answers.latencies_ms, 0.99)}


def _report(figures: Figures) -> Report:
    rows = [
        Row(f"{figures['idle_connections']:,.0f} idle streams", (f"{figures['idle_kb']:.1f} KB each", "", "")),
        *(
            Row(words, ("", f"{figures[f'{name}_per_s']:,.0f}", f"{figures[f'{name}_p99_ms']:,.1f}"))
            for name, words in (
                ("live", f"publish to socket, {LIVE:,} streams"),
                ("list", "inbox list, warm"),
                ("event", "POST /v1/events"),
                ("batch", f"POST /v1/events/batch, {gateway_http.BATCH} each"),
            )
        ),
    ]
    return Report(
        bench="gateway",
        columns=("memory", "a second", "p99 ms"),
        rows=tuple(rows),
        figures=figures,
        floors={"list_per_s": 1_000, "event_per_s": 2_500, "batched_per_s": 12_000},
        ceilings={"idle_kb": 18, "live_p99_ms": 250, "list_p99_ms": 50},
        notes=(
            f"100,000 streams at that size: {figures['idle_kb'] * 100_000 / 1024 / 1024:.2f} GiB; "
            f"idle they use {figures['idle_core']:.1%} of a core.",
            "Publish to socket: from ZADD and SPUBLISH as the inbox role does them to the client's process.",
        ),
    )
