"""`scripts/bench takeover`: eight partitions of ten million users' state, restored by a worker with an empty disk.

And once more after SIGKILL: what is on its disk by then is not trusted.
"""

import asyncio
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from notify_streams.domain import dedup
from notify_streams.domain.dedup import Seen
from notify_streams.settings import Settings
from notify_streams.streaming import topics
from schemas.codec import pack
from schemas.user_state import UserState
from tables.keys import of_user
from tests.bench import kafka
from tests.bench.lab import Lab
from tests.bench.report import Report, Row
from tests.bench.usage import Stalled

USERS, ALL_PARTITIONS, PARTITIONS, PER_DAY = 10_000_000, 64, 8, 20
GOAL_S, GOAL_MIB = 6.0, 250.0
_LIMIT_S = 180.0
_RESTORED = re.compile(r"tables\.restored records=(\d+) seconds=([\d.]+)")
_AT = 1_796_000_000_000


async def run(lab: Lab, *, quick: bool) -> Report:
    """Fill, start, read the worker's own account of its restore; `quick` takes a fifth of the users, without goals.

    What is reported of CPU and memory is the first start's.
    """
    config = lab.settings("bench.", partitions=PARTITIONS)
    await lab.provision(config)
    keys = USERS * PARTITIONS // ALL_PARTITIONS // (5 if quick else 1)
    filled = await kafka.fill(config.kafka.bootstrap, "bench." + topics.USER_STATE_LOG, states(keys))
    argv = [str(Path(sys.executable).with_name("notify")), "worker", "orchestrator"]
    pid = await lab.start("orchestrator", argv, config)
    seconds, peak, cpu = await _restored(lab, psutil.Process(pid), filled)
    await lab.kill_workers()
    pid = await lab.start("orchestrator", argv, config)
    killed, _, _ = await _restored(lab, psutil.Process(pid), filled, nth=1)
    again = await _again(lab, argv, config)
    await lab.stop_workers()
    return _report(keys, (seconds, killed), peak, cpu, again, quick=quick)


def states(keys: int) -> Iterator[kafka.Record]:
    """One state per user with twenty prints of 25 bytes, as a day leaves them."""
    for number in range(keys):
        user = b"user-%08d" % number
        row = b""
        for nth in range(PER_DAY):
            print_ = (number * PER_DAY + nth).to_bytes(10, "big")
            row = row + dedup.remember(b"", print_, Seen(b"orig", _AT + nth, 1, 5, 0))
        yield number % PARTITIONS, of_user(user, b"s"), pack(UserState(seen=row))


async def _restored(lab: Lab, process: psutil.Process, wanted: int, nth: int = 0) -> tuple[float, int, float]:
    """Seconds of the nth full restore by the worker's log, peak of resident bytes and CPU seconds until then."""
    peak, until = 0, time.monotonic() + _LIMIT_S
    while time.monotonic() < until:
        peak = max(peak, process.memory_info().rss)
        full = [seconds for records, seconds in _accounts(lab) if records >= wanted]
        if len(full) > nth:
            times = process.cpu_times()
            return full[nth], peak, times.user + times.system
        await asyncio.sleep(0.05)
    raise Stalled(f"no restore of {wanted} records within {_LIMIT_S:.0f} s")


async def _again(lab: Lab, argv: list[str], config: Settings) -> int:
    """How many records a restart with its data reads."""
    await lab.stop_workers()
    before = len(_accounts(lab))
    await lab.start("orchestrator", argv, config)
    for _ in range(round(_LIMIT_S * 10)):
        if len(_accounts(lab)) > before:
            break
        await asyncio.sleep(0.1)
    return _accounts(lab)[-1][0]


def _accounts(lab: Lab) -> list[tuple[int, float]]:
    text = (lab.directory / "logs" / "orchestrator.log").read_text()
    return [(int(records), float(seconds)) for records, seconds in _RESTORED.findall(text)]


def _report(keys: int, both: tuple[float, float], peak: int, cpu: float, again: int, *, quick: bool) -> Report:
    mib, (seconds, killed) = peak / 2**20, both
    figures = {
        "keys": float(keys),
        "seconds": seconds,
        "seconds_after_kill": killed,
        "keys_per_s": keys / seconds,
        "peak_mib": mib,
        "cpu_s": cpu,
        "records_after_restart": float(again),
    }
    cells = (
        f"{keys:,}",
        f"{seconds:.2f}",
        f"{killed:.2f}",
        f"{keys / seconds:,.0f}",
        f"{cpu:.1f}",
        f"{mib:.0f}",
        f"{again:,}",
    )
    return Report(
        bench="takeover",
        columns=("keys", "seconds", "after SIGKILL", "keys/s", "CPU s", "peak MiB", "read again"),
        rows=(Row("restore of 8 of 64 partitions", cells),),
        figures=figures,
        ceilings={}
        if quick
        else {"seconds": GOAL_S, "seconds_after_kill": GOAL_S, "peak_mib": GOAL_MIB, "records_after_restart": 0},
        notes=("CPU counts from the process's start; read again: records that a restart after an orderly stop reads.",),
    )
