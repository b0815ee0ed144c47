"""A replay by the settings: what it reads with, whom it asks, and its progress on a terminal."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from notify_streams import bootstrap
from notify_streams.replay.account import Account
from notify_streams.replay.derive import Reader, reading
from notify_streams.replay.fence import Clock
from notify_streams.replay.plan import Selection
from notify_streams.replay.run import Progress, Run
from notify_streams.replay.sources import LiveTopic
from notify_streams.settings import Settings, milliseconds
from notify_streams.streaming import groups
from notify_streams.streaming.groups import Position

from .reading import opened
from .times import now_ms

ARRIVES = {role: groups.READS[role] for role in ("ingest", "orchestrator", "inbox", *groups.SENDERS, "recorder")}


async def report(config: Settings, selection: Selection, *, shown: bool) -> Account:
    """What would happen; nothing does. Raises PlanError and Unavailable."""
    source = LiveTopic(config.kafka, selection.topic)
    spans = await source.spans(selection)
    late = behind(await groups.positions(config.kafka, ARRIVES))
    if late and shown:
        click.echo(
            f"On their way just now: {_listed(late)}. What is of the last two minutes may be of these.", err=True
        )
    kept_ms = milliseconds(config.retention.facts)

    def clock() -> Clock:
        now = now_ms()
        return Clock(now, kept_since=now - kept_ms, settled=not late)

    reader = Reader(bootstrap.catalogue(config), bootstrap.limits(config), config.tenants)
    async with opened(config) as records:
        run = Run(selection, reading(selection.topic, selection.kind, reader), records, clock)
        with progress(f"reading {selection.topic}", shown=shown) as told:
            return await run.run(source, spans, told)


def behind(positions: Sequence[Position]) -> Mapping[str, int]:
    """Records that are there and not done, by role, where there are any."""
    counts: dict[str, int] = {}
    for position in positions:
        counts[position.role] = counts.get(position.role, 0) + position.behind
    return {role: count for role, count in counts.items() if count}


@contextmanager
def progress(words: str, *, shown: bool) -> Iterator[Progress]:
    """Drawn on a terminal, with what is left of the time."""
    columns = (TextColumn(words), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]:,.0f}/s"))
    drawn = shown and sys.stderr.isatty()
    with Bar(*columns, TimeRemainingColumn(), console=Console(stderr=True), disable=not drawn, transient=True) as bar:
        task = bar.add_task("", total=None, rate=0.0)

        def told(done: int, all_: int) -> None:
            bar.update(task, completed=done, total=all_, rate=done / (bar.tasks[0].elapsed or 0.001))

        yield told


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{role} {count:,}" for role, count in counts.items())
