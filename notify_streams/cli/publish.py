"""`notify publish`: JSON lines of CloudEvents into Kafka."""

import asyncio
import json
import sys
from collections.abc import Iterable, Iterator
from time import perf_counter
from typing import Any, BinaryIO

import click
import msgspec
from aiokafka.errors import KafkaError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from notify_streams.domain.accept import Limits, Rejected
from notify_streams.settings import Settings, load
from notify_streams.streaming import topics
from schemas.catalogue import Catalogue
from schemas.words import LANES, Lane

_WINDOW = 500


class _Line(msgspec.Struct, frozen=True):
    """A line to send: where, under which key, and how many notifications it makes."""

    number: int
    lane: Lane
    key: bytes
    value: bytes
    notifications: int = 0


class _Bad(msgspec.Struct, frozen=True):
    """A line that is not sent."""

    number: int
    words: str


class _Summary(msgspec.Struct):
    """What came of the file."""

    events: int = 0
    notifications: int = 0
    bad_lines: int = 0
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Events a second."""
        return self.events / self.seconds if self.seconds else 0.0


@click.command()
@click.argument("file", type=click.File("rb"))
@click.option("--strict", is_flag=True, help="One bad line, and nothing at all is sent.")
@click.option("--raw", is_flag=True, help="Send the lines as they are, unchecked; ingest will judge them.")
@click.option("--lane", type=click.Choice(LANES), default="normal", show_default=True, help="With --raw: the lane.")
@click.option("--rate", type=click.IntRange(1), help="At most so many events a second.")
@click.option("--dry-run", is_flag=True, help="Check the lines, send nothing.")
@click.option("--yes", is_flag=True, help="Do not ask first. On a terminal it does, once it knows how many they are.")
@click.option("--json", "as_json", is_flag=True, help="The summary as one JSON object.")
def publish(
    file: BinaryIO, strict: bool, raw: bool, lane: Lane, rate: int | None, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Publish a FILE (or - for standard input) of one CloudEvent a line. Exit code 1 if a line was bad."""
    from notify_streams import bootstrap

    settings = load()
    lines = _raw(file, lane) if raw else _judged(file, bootstrap.catalogue(settings), bootstrap.limits(settings))
    total = None
    if strict or file.seekable():
        kept = list(lines)
        bad = [line for line in kept if isinstance(line, _Bad)]
        if strict and bad:
            _report(bad)
            raise click.ClickException(f"nothing was sent: {len(bad)} bad lines")
        if sys.stdin.isatty() and not (yes or dry_run):
            _ask(kept, bad, settings.kafka.bootstrap)
        lines, total = iter(kept), len(kept)
    summary = asyncio.run(_send(settings, lines, total, rate, dry_run))
    _show(summary, as_json=as_json, dry_run=dry_run)
    sys.exit(1 if summary.bad_lines else 0)


def _ask(kept: list[_Line | _Bad], bad: list[_Bad], broker: str) -> None:
    """The plan, and whether to go on; leaves with 1 if not."""
    made = sum(line.notifications for line in kept if isinstance(line, _Line))
    plan = f"{len(kept) - len(bad):,} events to {broker}" + (f", for {made:,} notifications" if made else "")
    click.confirm(f"{plan}; {len(bad):,} bad lines are left out. Publish?", abort=True, err=True)


def _raw(file: BinaryIO, lane: Lane) -> Iterator[_Line | _Bad]:
    for number, line in _numbered(file):
        yield _Line(number, lane, str(number).encode(), line)


def _judged(file: BinaryIO, catalogue: Catalogue, limits: Limits) -> Iterator[_Line | _Bad]:
    from notify_streams.cli.producing import checked

    for number, line in _numbered(file):
        result = checked(line, catalogue, limits)
        if isinstance(result, Rejected):
            yield _Bad(number, result.words)
        else:
            user = result.notifications[0].user_id.encode()
            yield _Line(number, result.lane, user, line, len(result.notifications))


def _numbered(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    return ((number, line.strip()) for number, line in enumerate(file, 1) if line.strip())


async def _send(
    settings: Settings, lines: Iterable[_Line | _Bad], total: int | None, rate: int | None, dry_run: bool
) -> _Summary:
    from notify_streams.cli.producing import producer

    summary, started, prefix = _Summary(), perf_counter(), settings.kafka.prefix
    columns = (TextColumn("{task.fields[rate]:>8,.0f}/s"), MofNCompleteColumn(), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("publish", total=total, rate=0.0)
        if dry_run:
            for line in lines:
                _count(summary, line)
        else:
            async with producer(settings.kafka) as client:
                for window in _windows(lines, min(_WINDOW, rate or _WINDOW)):
                    await _send_window(client, prefix, window)
                    for line in window:
                        _count(summary, line)
                    summary.seconds = perf_counter() - started
                    if rate:
                        await asyncio.sleep(max(0.0, summary.events / rate - summary.seconds))
                    progress.update(task, advance=len(window), rate=summary.rate)
    summary.seconds = perf_counter() - started
    return summary


def _windows(lines: Iterable[_Line | _Bad], size: int) -> Iterator[list[_Line | _Bad]]:
    window: list[_Line | _Bad] = []
    for line in lines:
        window.append(line)
        if len(window) >= size:
            yield window
            window = []
    if window:
        yield window


async def _send_window(client: Any, prefix: str, window: list[_Line | _Bad]) -> None:
    from notify_streams.cli.producing import HEADERS

    good = [line for line in window if isinstance(line, _Line)]
    try:
        sent = [
            await client.send(prefix + topics.events(line.lane), line.value, line.key, headers=HEADERS) for line in good
        ]
        for acknowledged in sent:
            await acknowledged
    except KafkaError as error:
        first, last = good[0].number, good[-1].number
        reason = f"lines {first} to {last} are not confirmed: {error!r}; publishing the file again is safe"
        raise click.ClickException(reason) from error


def _count(summary: _Summary, line: _Line | _Bad) -> None:
    if isinstance(line, _Bad):
        summary.bad_lines += 1
        _report([line])
    else:
        summary.events += 1
        summary.notifications += line.notifications


def _report(bad: list[_Bad]) -> None:
    for line in bad:
        click.echo(f"line {line.number}: {line.words}", err=True)


def _show(summary: _Summary, *, as_json: bool, dry_run: bool) -> None:
    if as_json:
        click.echo(json.dumps({**msgspec.structs.asdict(summary), "rate": round(summary.rate, 1)}))
        return
    words = f"{summary.events:,} events published in {summary.seconds:.1f} s ({summary.rate:,.0f}/s)"
    if dry_run:
        words = f"{summary.events:,} events could be published"
    made = f", for {summary.notifications:,} notifications" if summary.notifications else ""
    bad = f"; {summary.bad_lines:,} bad lines left out" if summary.bad_lines else ""
    click.echo(words + made + bad)
