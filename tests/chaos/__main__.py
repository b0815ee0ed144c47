"""`python -m tests.chaos NAME [--events N] [--quick]`; scripts/chaos calls it."""

import argparse
import asyncio
import functools
import logging
import sys
import tempfile
from pathlib import Path

import msgspec
from rich.console import Console

from notify_streams.local.engines import LocalEngines
from tests.chaos import gateway, preferences, providers, providers_plan, providers_report, timers, timers_report
from tests.chaos.report import show
from tests.chaos.spine import Plan, Spine
from tests.system.whole import JARS

QUICK = Plan(events=4_000, outage_s=10.0, act_s=5.0)


async def spine(plan: Plan, keep: Path | None, console: Console) -> int:
    """Run it on engines of its own; the exit code. With `keep` logs and data stay there."""
    with tempfile.TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True) as made:
        place = Path(made) if keep is None else keep
        async with LocalEngines(place, JARS, standard_ports=False, fresh=True) as engines:
            found = await Spine(place, engines, plan, lambda words: console.print(words, highlight=False)).run()
    return show(found, console)


async def minds(plan: preferences.Plan, keep: Path | None, console: Console) -> int:
    """The same for `preferences`."""
    with tempfile.TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True) as made:
        place = Path(made) if keep is None else keep
        async with LocalEngines(place, JARS, standard_ports=False, fresh=True) as engines:
            say = functools.partial(console.print, highlight=False)
            found = await preferences.Minds(place, engines, plan, say).run()
    return preferences.show(found, console)


async def due(plan: timers.Plan, keep: Path | None, console: Console) -> int:
    """The same for `timers`."""
    with tempfile.TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True) as made:
        place = Path(made) if keep is None else keep
        async with LocalEngines(place, JARS, standard_ports=False, fresh=True) as engines:
            say = functools.partial(console.print, highlight=False)
            found = await timers.Timers(place, engines, plan, say).run()
    return timers_report.show(found, console)


async def sending(plan: providers_plan.Plan, keep: Path | None, console: Console) -> int:
    """The same for `providers`."""
    with tempfile.TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True) as made:
        place = Path(made) if keep is None else keep
        async with LocalEngines(place, JARS, standard_ports=False, fresh=True) as engines:
            say = functools.partial(console.print, highlight=False)
            found = await providers.Providers(place, engines, plan, say).run()
    return providers_report.show(found, console)


async def streams(plan: gateway.Plan, keep: Path | None, console: Console) -> int:
    """The same for `gateway`."""
    with tempfile.TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True) as made:
        place = Path(made) if keep is None else keep
        async with LocalEngines(place, JARS, standard_ports=False, fresh=True) as engines:
            say = functools.partial(console.print, highlight=False)
            found = await gateway.Streams(place, engines, plan, say).run()
    return gateway.show(found, console)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="scripts/chaos", description=__doc__)
    parser.add_argument("name", choices=["spine", "preferences", "timers", "providers", "gateway"])
    parser.add_argument("--events", type=int, help="how many; for providers: of each channel")
    parser.add_argument(
        "--quick", action="store_true", help="4,000 events, outages of 10 s; 60 users; 500 per channel; 500 streams"
    )
    parser.add_argument("--frozen", action="store_true", help="outages by SIGSTOP: connections stay open")
    parser.add_argument("--keep", type=Path, help="a directory for data and logs, which then stay")
    arguments = parser.parse_args()
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # what our own clients say of outages that we make
    logging.getLogger("cassandra").setLevel(logging.CRITICAL)
    if arguments.name == "preferences":
        minds_plan = preferences.QUICK if arguments.quick else preferences.Plan()
        return asyncio.run(minds(minds_plan, arguments.keep, Console(stderr=True)))
    if arguments.name == "timers":
        due_plan = timers.QUICK if arguments.quick else timers.Plan()
        due_plan = msgspec.structs.replace(due_plan, mails=arguments.events or due_plan.mails)
        return asyncio.run(due(due_plan, arguments.keep, Console(stderr=True)))
    if arguments.name == "providers":
        bad_plan = providers_plan.QUICK if arguments.quick else providers_plan.Plan()
        bad_plan = msgspec.structs.replace(bad_plan, events=arguments.events or bad_plan.events)
        return asyncio.run(sending(bad_plan, arguments.keep, Console(stderr=True)))
    if arguments.name == "gateway":
        plan_of_streams = gateway.QUICK if arguments.quick else gateway.Plan()
        return asyncio.run(streams(plan_of_streams, arguments.keep, Console(stderr=True)))
    base = QUICK if arguments.quick else Plan()
    plan = Plan(arguments.events or base.events, base.outage_s, base.act_s, arguments.frozen)
    return asyncio.run(spine(plan, arguments.keep, Console(stderr=True)))


if __name__ == "__main__":
    sys.exit(main())
