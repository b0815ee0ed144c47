"""`notify preferences`: what a user chose, and changes of many users at once."""

import asyncio
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

import click
import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from notify_streams.domain.accept import why_no_user_id
from notify_streams.settings import Settings, load
from schemas.profiles import NOBODY, ProfileV1

if TYPE_CHECKING:
    from notify_streams.cli.importing import Change, Refused, Tally
    from notify_streams.gateway.preferences import Effective

_PIPED_WIDTH = 200


@click.group()
def preferences() -> None:
    """Show a user's preferences, or change those of many."""


@preferences.command()
@click.argument("user_id")
@click.option("--json", "as_json", is_flag=True, help="As the gateway's GET answers.")
def show(user_id: str, as_json: bool) -> None:
    """Show the preferences of USER_ID as last recorded, defaults filled in."""
    fault = why_no_user_id(user_id)
    if fault is not None:
        raise click.UsageError(fault)
    from notify_streams import bootstrap
    from notify_streams.cli.reading import answered
    from notify_streams.gateway.preferences import effective

    settings = load()
    found = effective(answered(_profile(settings, user_id)), bootstrap.catalogue(settings))
    if as_json:
        click.echo(msgspec.json.encode(found))
    else:
        _print(user_id, found)


@preferences.command("import")
@click.argument("file", type=click.File("rb"))
@click.option("--dry-run", is_flag=True, help="Check the lines and show the plan, change nothing.")
@click.option("--yes", is_flag=True, help="Go on without asking.")
@click.option(
    "--patience", default=30.0, show_default=True, help="Give up when nothing is answered for so many seconds."
)
@click.option("--json", "as_json", is_flag=True, help="The summary as one JSON object.")
def import_(file: BinaryIO, dry_run: bool, yes: bool, patience: float, as_json: bool) -> None:
    """Change preferences by a FILE (or - for standard input) of {"user_id", "preferences"} lines.

    `preferences` is what the gateway's PATCH takes; `if_match` beside it makes a change depend on the version. Lines
    that cannot be are reported and left out. Exit code 1 if a line was not applied.
    """
    from notify_streams import bootstrap
    from notify_streams.cli.importing import judged

    settings = load()
    known = bootstrap.catalogue(settings)
    with _seekable(file) as lines:
        good, bad = _counted(judged(lines, known))
        plan = f"{good:,} changes of preferences to {settings.kafka.bootstrap}; {bad:,} bad lines are left out"
        if dry_run or not (yes or _agreed(plan)):
            for line in _rewound(lines, judged(lines, known)):
                _report_refused(line)
            click.echo(f"{plan}. Nothing was changed" + ("" if dry_run else ": --yes is needed"), err=not dry_run)
            sys.exit(0 if dry_run and not bad else 1)
        click.echo(plan, err=True)
        tally = asyncio.run(_import(settings, _rewound(lines, judged(lines, known)), good + bad, patience))
    _summarise(tally, as_json=as_json)
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


def _rewound(file: BinaryIO, lines: "Iterator[Change | Refused]") -> "Iterator[Change | Refused]":
    file.seek(0)
    return lines


def _counted(lines: "Iterator[Change | Refused]") -> tuple[int, int]:
    from notify_streams.cli.importing import Refused

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


def _report_refused(line: "Change | Refused") -> None:
    from notify_streams.cli.importing import Refused

    if isinstance(line, Refused):
        _report(line.number, line.words)


def _report(number: int, words: str) -> None:
    click.echo(f"line {number}: {words}", err=True)


async def _import(settings: Settings, lines: "Iterator[Change | Refused]", total: int, patience: float) -> "Tally":
    from notify_streams.cli.importing import Importer

    importer = Importer(settings.kafka, patience_s=patience, report=_report)
    columns = (TextColumn("{task.fields[rate]:>8,.0f}/s"), MofNCompleteColumn(), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("import", total=total, rate=0.0)

        def advanced(tally: "Tally") -> None:
            progress.update(task, completed=tally.done, rate=progress.tasks[0].speed or 0.0)

        await importer.run(lines, advanced)
    return importer.tally


def _summarise(tally: "Tally", *, as_json: bool) -> None:
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


async def _profile(settings: Settings, user_id: str) -> ProfileV1:
    from notify_streams.cli.reading import opened

    async with opened(settings) as records:
        return await records.profile(user_id) or NOBODY


def _print(user_id: str, found: "Effective") -> None:
    click.secho(f"{user_id}: version {found.version}", bold=True)
    click.echo(f"locale {found.locale or '(default)'}, zone {found.zone or '(default)'}")
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("", *found.channels, ""):
        table.add_column(name)
    table.add_row("all", *(_switch(on) for on in found.channels.values()), "")
    for category, switches in found.categories.items():
        cells = (_switch(switches.get(channel)) for channel in found.channels)
        table.add_row(category, *cells, "mandatory" if category in found.mandatory else "")
    Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH).print(table)
    for window in found.quiet_hours:
        days, channels = " ".join(window.days) or "every day", ", ".join(window.channels) or "all channels"
        click.echo(f"quiet {window.start} to {window.end}, {days}, {channels}")
    for channel, categories in found.digest.items():
        for category, frequency in categories.items():
            click.echo(f"digest of {category} by {channel}: {frequency}")
    if found.digest_at is not None:
        click.echo(f"daily digests at {found.digest_at}")


def _switch(on: bool | None) -> str:
    return "-" if on is None else "on" if on else "off"
