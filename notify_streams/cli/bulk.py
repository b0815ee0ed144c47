"""Changes from a file of lines: counted, shown as a plan, agreed to, carried out and added up."""

import asyncio
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, NoReturn

import click
import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from notify_streams.cli.importing import Importer, Line, Refused, Tally
from notify_streams.settings import Settings

Lines = Iterator[Line | Refused]


class How(msgspec.Struct, frozen=True):
    """What was said on the command line. `patience` in s."""

    dry_run: bool
    yes: bool
    patience: float
    as_json: bool


def carry_out(settings: Settings, file: BinaryIO, judged: Callable[[BinaryIO], Lines], what: str, how: How) -> NoReturn:
    """Ends the process: 0 where every line was applied (or could be), else 1. `what` names the lines in the plan."""
    with _seekable(file) as lines:
        good, bad = _counted(judged(lines))
        plan = f"{good:,} {what} to {settings.kafka.bootstrap}; {bad:,} bad lines are left out"
        if how.dry_run or not (how.yes or _agreed(plan)):
            for line in _rewound(lines, judged(lines)):
                if isinstance(line, Refused):
                    _report(line.number, line.words)
            click.echo(
                f"{plan}. Nothing was changed" + ("" if how.dry_run else ": --yes is needed"), err=not how.dry_run
            )
            sys.exit(0 if how.dry_run and not bad else 1)
        click.echo(plan, err=True)
        tally = asyncio.run(_import(settings, _rewound(lines, judged(lines)), good + bad, how.patience))
    _summarise(tally, as_json=how.as_json)
    sys.exit(0 if tally.all_applied else 1)


@contextmanager
def _seekable(file: BinaryIO) -> Iterator[BinaryIO]:
    """The file itself, or a copy of what can be read only once: it is read to count, and again to publish."""
    if file.seekable():
        yield file
        return
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(file, copy)
        copy.seek(0)
        yield copy


def _rewound(file: BinaryIO, lines: Lines) -> Lines:
    file.seek(0)
    return lines


def _counted(lines: Lines) -> tuple[int, int]:
    good = bad = 0
    for line in lines:
        if isinstance(line, Refused):
            bad += 1
        else:
            good += 1
    return good, bad


def _agreed(plan: str) -> bool:
    """Asked on a terminal; elsewhere nobody could answer."""
    return sys.stdin.isatty() and click.confirm(f"{plan}. Go on?", err=True)


def _report(number: int, words: str) -> None:
    click.echo(f"line {number}: {words}", err=True)


async def _import(settings: Settings, lines: Lines, total: int, patience: float) -> Tally:
    importer = Importer(settings.kafka, patience_s=patience, report=_report)
    columns = (TextColumn("{task.fields[rate]:>8,.0f}/s"), MofNCompleteColumn(), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("import", total=total, rate=0.0)

        def advanced(tally: Tally) -> None:
            progress.update(task, completed=tally.done, rate=progress.tasks[0].speed or 0.0)

        await importer.run(lines, advanced)
    return importer.tally


def _summarise(tally: Tally, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(msgspec.structs.asdict(tally)))
        return
    words = f"{tally.applied:,} of {tally.lines:,} changes applied in {tally.seconds:.1f} s"
    for count, what in (
        (tally.bad_lines, "bad lines left out"),
        (tally.invalid, "invalid"),
        (tally.conflict, "in conflict with another version"),
        (tally.unconfirmed, "not confirmed: they may have been applied"),
        (tally.unsent, "not sent"),
    ):
        words += f"; {count:,} {what}" if count else ""
    click.echo(words)
