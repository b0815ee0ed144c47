"""`scripts/bench decide`: the pure core by itself, and the orchestrator that decides with it, from a backlog."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from agents.deciding import Rules
from notify_streams import bootstrap
from notify_streams.domain import meeting
from notify_streams.domain.decide import decide, slice_of
from notify_streams.settings import Catalogue as CatalogueSettings
from notify_streams.settings import Settings
from notify_streams.streaming import topics
from schemas.catalogue import Catalogue
from schemas.decisions import StateSlice
from schemas.user_state import EMPTY, UserState, Window
from schemas.words import CHANNELS
from tests.bench import kafka, people
from tests.bench.lab import Lab
from tests.bench.report import Figures, Report, Row
from tests.bench.usage import Usage, watch

DECISIONS, COUNT = 200_000, 360_000
FLOORS: Figures = {"decide_per_s": 30_000, "orchestrator_per_s": 10_000}
WORDS = {
    "decide": "decide() and its slice",
    "core": "all that is pure",
}
_A_DAY = 20  # notifications of one user that a state remembers
_SPENT = StateSlice(hour=2, day=7)
Step = Callable[[int], None]


class Core(msgspec.Struct, frozen=True):
    """CPU and wall seconds of a number of decisions."""

    count: int
    cpu_s: float
    wall_s: float

    @property
    def per_cpu_second(self) -> float:
        """What one core does in a second."""
        return self.count / self.cpu_s

    @property
    def micros(self) -> float:
        """CPU microseconds of one."""
        return self.cpu_s / self.count * 1e6


async def run(lab: Lab, *, quick: bool) -> Report:
    """The core in this process, then the orchestrator over a backlog; `quick` takes a third of both."""
    part = 3 if quick else 1
    now = round(time.time() * 1000)
    wide = CatalogueSettings(path=str(people.with_a_wide_budget(lab.directory)))
    config = msgspec.structs.replace(lab.settings("bench."), catalogue=wide)
    catalogue = bootstrap.catalogue(config)
    cores = {name: timed(step, DECISIONS // part) for name, step in steps(catalogue, now).items()}
    return _report(cores, await _orchestrator(lab, config, COUNT // part, now))


def steps(catalogue: Catalogue, now: int) -> dict[str, Step]:
    """What is measured of the core, once per call. Everybody comes in turn; `now` (ms) goes on with every call."""
    known = msgspec.structs.replace(catalogue, channels=CHANNELS)
    type_, rules = known.types[people.TYPE], Rules(known, tzdata="bench")
    profiles = [people.somebody(number, now) for number in range(1_000)]
    made = [people.one(number, "u", ("inapp", "email", "push"), now) for number in range(1_000)]
    states: list[UserState] = [EMPTY] * len(profiles)
    windows: list[tuple[Window, ...]] = [()] * len(profiles)

    def decided(number: int) -> None:
        nth = number % len(profiles)
        decide(made[nth], slice_of(profiles[nth], made[nth], type_), _SPENT, known, now + number // 10)

    def all_that_is_pure(number: int) -> None:
        nth, day = number % len(profiles), number // len(profiles) % _A_DAY
        notification, at = made[(nth + day) % len(made)], now + number // 10
        state = states[nth] if day else EMPTY
        met = meeting.meet(state, notification, 1, at)
        made_of_it = rules.decided(notification, profiles[nth], state, met, lambda _: windows[nth])
        states[nth], windows[nth] = made_of_it.state, made_of_it.windows[-1:]

    return {"decide": decided, "core": all_that_is_pure}


def timed(step: Step, count: int) -> Core:
    """Run it that often, after a thousand times for the caches."""
    for number in range(1_000):
        step(number)
    cpu, wall = time.process_time(), time.perf_counter()
    for number in range(1_000, 1_000 + count):
        step(number)
    return Core(count, time.process_time() - cpu, time.perf_counter() - wall)


async def _orchestrator(lab: Lab, config: Settings, count: int, now: int) -> Usage:
    """Every notification goes by mail and into the inbox."""
    await lab.provision(config)
    address, prefix = config.kafka.bootstrap, config.kafka.prefix
    load = people.notifications(config, count, ("inapp", "email"), now)
    await kafka.fill(address, prefix + topics.notifications("low"), load)
    await kafka.fill(address, prefix + topics.PROFILES, people.profiles(config, now))
    async with kafka.ends(address, prefix + topics.deliveries("email", "low"), config.kafka.partitions) as mails:
        argv = [str(Path(sys.executable).with_name("notify")), "worker", "orchestrator"]
        pid = await lab.start("orchestrator", argv, config)
        used = await watch(count, mails.total, {"orchestrator": pid, "broker": lab.engines.pids["kafka"]})
        await lab.stop_workers()
    return used


def _report(cores: dict[str, Core], used: Usage) -> Report:
    rows = [
        Row(WORDS[name], (f"{core.per_cpu_second:,.0f}", f"{core.count / core.wall_s:,.0f}", f"{core.micros:.1f}", ""))
        for name, core in cores.items()
    ]
    share = used.core("orchestrator")
    cells = f"{used.rate / share:,.0f}", f"{used.rate:,.0f}", f"{used.micros('orchestrator'):.1f}"
    rows.append(Row("orchestrator", (*cells, f"{used.micros('broker'):.1f}")))
    figures: Figures = {}
    for name, core in cores.items():
        figures |= {f"{name}_per_s": core.per_cpu_second, f"{name}_us": core.micros}
    figures |= {
        "orchestrator_per_s": used.rate,
        "orchestrator_cpu_us": used.micros("orchestrator"),
        "orchestrator_core": share,
        "orchestrator_mib": used.peak_bytes["orchestrator"] / 2**20,
        "broker_cpu_us": used.micros("broker"),
    }
    return Report(
        bench="decide",
        columns=("per CPU second", "per second", "CPU µs", "broker µs"),
        rows=tuple(rows),
        figures=figures,
        floors=FLOORS,
        notes=(
            "Three channels in the core (all that is pure: meeting, decision, deliveries, timers, records), two on the "
            "broker. Profiles: a zone with summer time, a night of quiet, switches, two endpoints, a digest by push, a "
            "budget.",
            f"The orchestrator used {share:.0%} of a core: one process, the middle 80 % of the run.",
        ),
    )
