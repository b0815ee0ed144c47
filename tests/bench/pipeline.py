"""`scripts/bench pipeline`: events to the inbox in Cassandra and to the mail server, at a fixed rate."""

import sys
from collections.abc import Mapping

import msgspec

from notify_streams.local.child import Child
from notify_streams.local.programs import ROLES
from tests.bench.generator import Load, Published
from tests.bench.lab import ROOT, Lab
from tests.bench.latencies import Took, percentile, took
from tests.bench.processes import Looks, looking
from tests.bench.report import Figures, Report, Row
from tests.bench.usage import Stalled
from tests.system import traffic
from tests.system.progress import Progress
from tests.system.whole import Whole

RATE, SECONDS, QUICK_SECONDS, USERS = 1500.0, 60.0, 20.0, 20_000
MARGIN = 1.02  # offered above the floor: what was held is counted from the first end to the last
_DRAINED_S, _REGISTERED_S = 180.0, 120.0
ENGINES, APART = ("kafka", "cassandra", "redis"), ("simulator", "generator")


async def run(lab: Lab, *, quick: bool) -> Report:
    """The whole at `--rate` a second (1,500 when left out) for a minute, cold start included."""
    rate, seconds = lab.rate or RATE, QUICK_SECONDS if quick else SECONDS
    whole = Whole(lab.directory / "whole", lab.engines)
    progress = Progress(whole.settings.kafka)
    try:
        await whole.start()
        await registered(whole, progress, USERS)
        load = load_for(whole, count=round(rate * MARGIN * seconds), rate=rate * MARGIN, users=USERS)
        published, looks = await loaded(whole, progress, load)
        return _report(await took(whole.settings.kafka, whole.mails), published, looks, rate)
    finally:
        await progress.close()
        await whole.stop()


async def registered(whole: Whole, progress: Progress, users: int) -> None:
    """Everybody has a mailbox, and the system is at rest."""
    await traffic.register(whole.settings.kafka, traffic.people(users))
    if await progress.caught_up("orchestrator", "recorder", limit_s=_REGISTERED_S) is None:
        raise Stalled(f"{users:,} mailboxes are not registered after {_REGISTERED_S:.0f} s")


def load_for(whole: Whole, *, count: int, rate: float, users: int) -> Load:
    """For the topics of this system."""
    kafka = whole.settings.kafka
    return Load(
        bootstrap=kafka.bootstrap, prefix=kafka.prefix, partitions=kafka.partitions, count=count, rate=rate, users=users
    )


async def loaded(whole: Whole, progress: Progress, load: Load, limit_s: float = _DRAINED_S) -> tuple[Published, Looks]:
    """Publish it all and wait until it is worked off, with an eye on every process."""
    result = whole.directory / "published.json"
    argv = [sys.executable, "-m", "tests.bench.generator", msgspec.json.encode(load).decode(), str(result)]
    generator = Child(argv, log=whole.directory / "logs" / "generator.log", cwd=ROOT)

    def pids() -> Mapping[str, int]:
        load = {"generator": generator.pid} if generator.pid is not None else {}
        return {**whole.engines.pids, **whole.fleet.pids, **load}

    async with looking(pids) as looks:
        await generator.start()
        if not await generator.wait(load.count / load.rate + 120) or generator.exit_code != 0:
            await generator.kill()
            raise Stalled(f"the generator failed: {generator.tail()}")
        for role in ROLES:
            if await progress.caught_up(role, limit_s=limit_s) is None:
                raise Stalled(f"{role} has not caught up {limit_s:.0f} s after the last event")
    return msgspec.json.decode(result.read_bytes(), type=Published), looks


def _report(done: list[Took], published: Published, looks: Looks, rate: float) -> Report:
    groups = {
        "inapp": [one for one in done if one.channel == "inapp"],
        "email": [one for one in done if one.channel == "email"],
        "high": [one for one in done if one.lane == "high"],
    }
    figures = _figures(groups, published, looks)
    return Report(
        bench="pipeline",
        columns=("p50 s", "p95 s", "p99 s", "CPU µs", "MiB"),
        rows=(*_latency_rows(figures, groups), *_cpu_rows(figures, looks)),
        figures=figures,
        floors={"rate_per_s": rate},
        ceilings={"inapp_p95_s": 2.0, "email_p95_s": 2.0, "backlog_s": 1.0, "lost": 0.0},
        notes=(
            f"{published.count:,} notifications offered at {figures['offered_per_s']:,.0f}/s, "
            f"{len(groups['email']):,} of them with a mail; {figures['rate_per_s']:,.0f}/s done, first to last.",
            "Latency from the broker's append time, cold start included; CPU until all was worked off.",
            f"All of ours {figures['cpu_us']:,.0f} µs; the generator and the simulator are not counted in.",
        ),
    )


def _figures(groups: Mapping[str, list[Took]], published: Published, looks: Looks) -> Figures:
    inbox, seconds = groups["inapp"], (published.ended - published.began) / 1000
    offered = published.count / seconds
    figures: Figures = {
        "offered_per_s": offered,
        "rate_per_s": len(inbox) / max(seconds, _between(inbox)),
        "backlog_s": sum(one.accepted_at <= published.ended < one.ended_at for one in inbox) / offered,
        "lost": published.count - len(inbox),
        "generator_behind_s": published.behind_s,
    }
    for name, group in groups.items():
        for share in (0.5, 0.95, 0.99):
            figures[f"{name}_p{share * 100:.0f}_s"] = percentile([_seconds(one) for one in group], share)
    figures |= {f"{name}_cpu_us": looks.cpu(name) / published.count * 1e6 for name in looks.names()}
    figures["cpu_us"] = sum(figures[f"{name}_cpu_us"] for name in looks.names() if name not in APART)
    return figures


def _latency_rows(figures: Figures, groups: Mapping[str, list[Took]]) -> list[Row]:
    words = {"inapp": "accepted → inbox", "email": "accepted → mail server", "high": "HIGH, both"}
    return [
        Row(f"{words[name]} ({len(group):,})", (*(f"{figures[f'{name}_p{p}_s']:.3f}" for p in (50, 95, 99)), "", ""))
        for name, group in groups.items()
    ]


def _cpu_rows(figures: Figures, looks: Looks) -> list[Row]:
    ordered = sorted(looks.names(), key=lambda name: (name in APART, name not in ENGINES, -looks.cpu(name)))
    return [Row(name, ("", "", "", f"{figures[f'{name}_cpu_us']:.0f}", f"{looks.peak(name):.0f}")) for name in ordered]


def _between(done: list[Took]) -> float:
    """Seconds from the first end to the last."""
    ends = [one.ended_at for one in done] or [0]
    return (max(ends) - min(ends)) / 1000


def _seconds(one: Took) -> float:
    return max(0, one.ended_at - one.accepted_at) / 1000
