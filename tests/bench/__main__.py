"""`python -m tests.bench NAME [--quick]`; scripts/bench calls it."""

import argparse
import asyncio
import importlib
import sys
import tempfile
from collections.abc import Awaitable
from pathlib import Path
from typing import Protocol, cast

from rich.console import Console

from notify_streams.local.engines import ENGINES, EngineName, LocalEngines
from tests.bench.lab import JARS, Lab
from tests.bench.report import Report, show
from tests.bench.usage import Stalled

BENCHES: dict[str, tuple[EngineName, ...]] = {
    "transport": ("kafka",),
    "decide": ("kafka",),
    "takeover": ("kafka",),
    "timers": ("kafka",),
    "lanes": ENGINES,
    "pipeline": ENGINES,
    "idle": ENGINES,
    "reads": ENGINES,
    "memory": ENGINES,
    "senders": ("kafka", "redis"),
    "gateway": ENGINES,
}


class Bench(Protocol):
    """What a module of this package has to offer to be run by its name."""

    def run(self, lab: Lab, *, quick: bool) -> Awaitable[Report]:
        """Measure."""


async def measure(name: str, *, quick: bool, rate: float | None, console: Console) -> int:
    """Run one benchmark on engines of its own; 1 when a floor was missed or it came to no end."""
    bench = cast("Bench", importlib.import_module(f"tests.bench.{name}"))
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as directory:
        place = Path(directory)
        engines = LocalEngines(place / "engines", JARS, which=BENCHES[name], standard_ports=False)
        with console.status(f"starting {', '.join(BENCHES[name])}"):
            await engines.open()
        lab = Lab(place, engines, rate)
        try:
            with console.status(f"measuring {name}"):
                report = await bench.run(lab, quick=quick)
        except Stalled as error:
            console.print(f"{name} came to no end: {error}", style="bold red")
            for log, tail in lab.tails().items():
                console.print(f"{log}:\n{tail}", markup=False)
            return 1
        finally:
            await lab.stop_workers()
            await engines.close()
    show(report, console)
    return 1 if report.ok is False else 0


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("name", choices=BENCHES)
    parser.add_argument("--quick", action="store_true", help="a first figure within a minute")
    parser.add_argument("--rate", type=float, help="events a second, where a benchmark offers them at a fixed rate")
    arguments = parser.parse_args()
    console = Console(stderr=True)
    return asyncio.run(measure(arguments.name, quick=arguments.quick, rate=arguments.rate, console=console))


if __name__ == "__main__":
    sys.exit(main())
