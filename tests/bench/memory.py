"""`scripts/bench memory`: what each worker holds after a million events of 200,000 users."""

from notify_streams.local.programs import ROLES
from tests.bench.lab import Lab
from tests.bench.pipeline import load_for, loaded, registered
from tests.bench.processes import Looks
from tests.bench.report import Figures, Report, Row
from tests.system.progress import Progress
from tests.system.whole import Whole

EVENTS, USERS, RATE = 1_000_000, 200_000, 20_000.0
QUICK = 10  # a tenth of both
CEILING_MIB, _WORKED_OFF_S = 250.0, 1800.0


async def run(lab: Lab, *, quick: bool) -> Report:
    """All events as fast as the broker takes them, then wait until the last is worked off."""
    events, users = (EVENTS // QUICK, USERS // QUICK) if quick else (EVENTS, USERS)
    whole = Whole(lab.directory / "whole", lab.engines)
    progress = Progress(whole.settings.kafka)
    try:
        await whole.start()
        await registered(whole, progress, users)
        load = load_for(whole, count=events, rate=lab.rate or RATE, users=users)
        _, looks = await loaded(whole, progress, load, _WORKED_OFF_S)
        return _report(looks, events, users)
    finally:
        await progress.close()
        await whole.stop()


def _report(looks: Looks, events: int, users: int) -> Report:
    last = looks.all[-1].resident
    figures: Figures = {f"{name}_mib": looks.peak(name) for name in looks.names()}
    figures["events_per_s"] = events / looks.seconds
    figures["worker_mib"] = max(figures[f"{role}_mib"] for role in ROLES)
    rows = [
        Row(name, (f"{figures[f'{name}_mib']:.0f}", f"{last.get(name, 0) / 2**20:.0f}"))
        for name in sorted(looks.names(), key=lambda name: (name not in ROLES, -figures[f"{name}_mib"]))
    ]
    return Report(
        bench="memory",
        columns=("peak MiB", "at the end"),
        rows=tuple(rows),
        figures=figures,
        ceilings={"worker_mib": CEILING_MIB},
        notes=(
            f"{events:,} events of {users:,} users, worked off in {looks.seconds:.0f} s, "
            f"{figures['events_per_s']:,.0f}/s. Resident memory, looked at every second.",
        ),
    )
