"""`scripts/bench reads`: GET of preferences with the Redis cache, and by a gateway whose Redis is away."""

import asyncio
import random
import time
from typing import cast

import msgspec
import psutil

from notify_streams.local.child import Child
from notify_streams.local.free_ports import HOST, free_port
from notify_streams.local.programs import NOTIFY
from notify_streams.records.cassandra import CassandraRecords
from notify_streams.settings import Settings
from notify_streams.stores.cassandra import connect
from schemas.profiles import Address, Endpoint, ProfileV1, QuietHours
from tests.bench.lab import Lab
from tests.bench.latencies import percentile
from tests.bench.report import Figures, Report, Row
from tests.bench.usage import Stalled
from tests.system.whole import Whole

USERS, CONNECTIONS = 2000, 16
SECONDS, QUICK_SECONDS, ROUNDS = 6.0, 3.0, 3
_READY_S = 60.0
_NOWHERE = f"redis://{HOST}:1/0"
NAMES = ("cache", "no cache")


class Taken(msgspec.Struct):
    """What one way took, over all its turns; CPU in seconds."""

    seconds: float = 0.0
    latencies_s: list[float] = []
    gateway_cpu: float = 0.0
    cassandra_cpu: float = 0.0

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.latencies_s) / self.seconds

    def micros(self, cpu: float) -> float:
        """For one answer."""
        return cpu / len(self.latencies_s) * 1e6


async def run(lab: Lab, *, quick: bool) -> Report:
    """Turn and turn about, in one run: 16 connections, 2,000 recorded users."""
    whole = Whole(lab.directory / "whole", lab.engines, roles=())
    port = free_port()
    environment = {**whole.environment, "NOTIFY_REDIS__URL": _NOWHERE, "NOTIFY_GATEWAY__PORT": str(port)}
    without = Child([*NOTIFY, "gateway"], log=lab.directory / "logs" / "without.log", env=environment)
    try:
        await whole.start()
        await _record(whole.settings)
        await without.start()
        ports = {"cache": int(whole.urls["gateway"].rpartition(":")[2]), "no cache": port}
        pids = {"cache": whole.fleet.pids["gateway"], "no cache": without.pid or 0}
        await _ready(port)
        taken = {name: Taken() for name in NAMES}
        for _ in range(ROUNDS):
            for name in NAMES:
                turn = QUICK_SECONDS if quick else SECONDS
                await _turn(taken[name], ports[name], turn, pids[name], lab.engines.pids["cassandra"])
        return _report(taken)
    finally:
        await without.stop(10)
        await whole.stop()


async def _record(settings: Settings) -> None:
    """As the recorder would have, long ago: no gateway has heard of them."""
    session = await connect(settings.cassandra)
    records = await CassandraRecords.open(session)
    await records.write_profiles({f"user-{number}": _profile(number) for number in range(USERS)})
    await session.close()


def _profile(number: int) -> ProfileV1:
    mailbox = Endpoint(
        channel="email", endpoint_id="home", verified=True, content=Address(f"user-{number}@example.org")
    )
    return ProfileV1(
        version=7,
        locale="fr-FR",
        zone="Europe/Paris",
        channels={"email": True},
        categories={"marketing": {"email": False}, "social": {"email": False, "inapp": True}},
        quiet_hours=(QuietHours(start="22:00", end="08:00", days=("mon", "tue"), channels=("email",)),),
        digest={"email": {"social": "daily"}},
        endpoints=(mailbox,),
    )


async def _turn(taken: Taken, port: int, seconds: float, gateway: int, cassandra: int) -> None:
    watched = [psutil.Process(pid) for pid in (gateway, cassandra)]
    before, began = [_cpu(one) for one in watched], time.monotonic()
    until = began + seconds
    found = await asyncio.gather(*(_ask(port, until, random.Random(number)) for number in range(CONNECTIONS)))
    taken.seconds += time.monotonic() - began
    after = [_cpu(one) for one in watched]
    taken.latencies_s = [*taken.latencies_s, *(latency for part in found for latency in part)]
    taken.gateway_cpu += after[0] - before[0]
    taken.cassandra_cpu += after[1] - before[1]


async def _ask(port: int, until: float, chance: random.Random) -> list[float]:
    """One connection, one question after the other: a client that costs little beside the server."""
    reader, writer = await asyncio.open_connection(HOST, port)
    latencies = []
    while (began := time.monotonic()) < until:
        user = f"user-{chance.randrange(USERS)}"
        writer.write(f"GET /v1/users/{user}/preferences HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise Stalled(head.partition(b"\r\n")[0].decode())
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        body = await reader.readexactly(length)
        if b'"version":7' not in body:
            raise Stalled(f"{user}: {body.decode()}")
        latencies.append(time.monotonic() - began)
    writer.close()
    return latencies


async def _ready(port: int) -> None:
    until = time.monotonic() + _READY_S
    while time.monotonic() < until:
        try:
            reader, writer = await asyncio.open_connection(HOST, port)
            writer.write(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            answer = await reader.read()
            writer.close()
            if answer.startswith(b"HTTP/1.1 200"):
                return
        except OSError:
            pass
        await asyncio.sleep(0.2)
    raise Stalled("the gateway without Redis did not become ready")


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return cast(float, times.user + times.system)


def _report(taken: dict[str, Taken]) -> Report:
    figures: Figures = {}
    rows = []
    for name, one in taken.items():
        ms = {share: percentile(one.latencies_s, share) * 1000 for share in (0.5, 0.99)}
        gateway, cassandra = one.micros(one.gateway_cpu), one.micros(one.cassandra_cpu)
        cells = (f"{one.rate:,.0f}", f"{ms[0.5]:.1f}", f"{ms[0.99]:.1f}", f"{gateway:.0f}", f"{cassandra:.0f}")
        rows.append(Row(name, cells))
        key = name.replace(" ", "_")
        figures |= {f"{key}_per_s": one.rate, f"{key}_p50_ms": ms[0.5], f"{key}_gateway_us": gateway}
    return Report(
        bench="reads",
        columns=("GET/s", "p50 ms", "p99 ms", "gateway CPU µs", "Cassandra CPU µs"),
        rows=tuple(rows),
        figures=figures | {"gain": figures["cache_per_s"] / figures["no_cache_per_s"]},
        floors={"gain": 1.2},
        notes=(
            f"{CONNECTIONS} connections, one question at a time each, {USERS:,} users; one gateway process, turn and "
            "turn about with one whose Redis is away. The first turn fills the cache.",
        ),
    )
