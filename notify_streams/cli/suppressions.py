"""`notify suppressions`: what is held against addresses."""

import sys
from datetime import UTC, datetime
from typing import BinaryIO, cast, get_args
from uuid import uuid4

import click
from rich.console import Console
from rich.table import Table

from notify_streams.cli import bulk
from notify_streams.cli.importing import BY
from notify_streams.cli.reading import answered
from notify_streams.cli.suppressing import Asked, a_suppression, asked, judged
from notify_streams.cli.times import is_duration, now_ms
from notify_streams.gateway.problems import Problem
from notify_streams.gateway.spelling import spelling_of
from notify_streams.gateway.suppressions import SuppressionView, until_of, view
from notify_streams.settings import Settings, load, milliseconds
from schemas.addresses import LiftSuppressionV1, ShowAddressV1, Suppression
from schemas.codec import encode
from schemas.words import CHANNELS, Channel

_REASONS: tuple[Suppression, ...] = get_args(Suppression)
_PIPED_WIDTH = 200
_channel = click.argument("channel", type=click.Choice([channel for channel in CHANNELS if channel != "inapp"]))
_address = click.argument("address")
_as_json = click.option("--json", "as_json", is_flag=True, help="As the gateway answers.")


@click.group()
def suppressions() -> None:
    """Show and change what is held against an address: it holds for all who have it, and stays when they leave.

    Every answer comes from the registry, by way of the broker. An address may be spelt as at the gateway.
    """


@suppressions.command()
@_channel
@_address
@_as_json
def show(channel: Channel, address: str, as_json: bool) -> None:
    """Show why nothing is sent to ADDRESS, until when, and whose it is."""
    settings = load()
    change = ShowAddressV1(channel=channel, at=now_ms(), by=BY, command_id=uuid4().hex)
    _tell(settings, _spelt(settings, channel, address), change, as_json=as_json)


@suppressions.command()
@_channel
@_address
@click.option("--reason", type=click.Choice(_REASONS), default="manual", show_default=True)
@click.option("--until", help="A duration from now such as 24h, or an instant such as 2026-12-24T18:00:00Z.")
@_as_json
def add(channel: Channel, address: str, reason: Suppression, until: str | None, as_json: bool) -> None:
    """Send nothing to ADDRESS any more. Said again, it never ends sooner: lift it first for that."""
    settings = load()
    spelt = _spelt(settings, channel, address)
    try:
        ends = until_of(reason, _instant(until), now_ms())
    except Problem as problem:
        raise click.UsageError(f"--until: {problem.body.detail}") from None
    change = a_suppression(channel, spelt, reason, ends, command_id=uuid4().hex)
    _tell(settings, spelt, change, as_json=as_json)


@suppressions.command()
@_channel
@_address
@click.option("--only", type=click.Choice(_REASONS), help="Only where it is held for this reason.")
@_as_json
def lift(channel: Channel, address: str, only: str | None, as_json: bool) -> None:
    """Send to ADDRESS again."""
    settings, why = load(), cast("Suppression | None", only)
    change = LiftSuppressionV1(channel=channel, at=now_ms(), by=BY, only=why, command_id=uuid4().hex)
    _tell(settings, _spelt(settings, channel, address), change, as_json=as_json)


@suppressions.command("import")
@click.argument("file", type=click.File("rb"))
@click.option("--dry-run", is_flag=True, help="Check the lines and show the plan, change nothing.")
@click.option("--yes", is_flag=True, help="Go on without asking.")
@click.option(
    "--patience", default=30.0, show_default=True, help="Give up when nothing is answered for so many seconds."
)
@click.option("--json", "as_json", is_flag=True, help="The summary as one JSON object.")
def import_(file: BinaryIO, dry_run: bool, yes: bool, patience: float, as_json: bool) -> None:
    """Add to the list by a FILE (or - for standard input) of {"channel", "address", "reason"?, "until"?} lines.

    Lines that cannot be are reported and left out. Exit code 1 if a line was not applied.
    """
    settings = load()
    spelling = spelling_of(settings)
    how = bulk.How(dry_run, yes, patience, as_json)
    bulk.carry_out(settings, file, lambda lines: judged(lines, spelling), "suppressions", how)


def _spelt(settings: Settings, channel: Channel, address: str) -> str:
    """The address as it is kept. Ends with wrong usage for one that is none."""
    try:
        return spelling_of(settings).kept(channel, address)
    except Problem as problem:
        raise click.UsageError(f"ADDRESS: {problem.body.detail}") from None


def _instant(text: str | None) -> datetime | None:
    if text is None:
        return None
    if is_duration(text):
        return datetime.fromtimestamp((now_ms() + milliseconds(text)) / 1000, UTC)
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        words = f"{text!r} is neither a duration such as 24h nor an instant such as 2026-12-24T18:00:00Z"
        raise click.UsageError(f"--until: {words}") from None


def _tell(settings: Settings, address: str, change: Asked, *, as_json: bool) -> None:
    found = view(answered(asked(settings.kafka, address, change)), now_ms())
    if as_json:
        click.echo(encode(found))
    else:
        _print(address, found)


def _print(address: str, found: SuppressionView) -> None:
    if found.suppressed is None:
        click.echo(f"{address}: nothing is held against it")
    else:
        until = "until it is lifted" if found.until is None else f"until {found.until:%Y-%m-%d %H:%M:%S} UTC"
        click.secho(f"{address}: nothing is sent there ({found.suppressed}), {until}", bold=True)
        table = Table(box=None, pad_edge=False, header_style="dim")
        for name in ("reason", "since", "until", "by", "as spelt"):
            table.add_column(name)
        for one in found.reasons:
            since, ends = (f"{at:%Y-%m-%d %H:%M:%S}" if at else "-" for at in (one.since, one.until))
            table.add_row(one.reason, since, ends, one.by, one.address or "-")
        Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH, highlight=False, markup=False).print(table)
    users = f"users: {', '.join(found.users)}" if found.users else "nobody has it"
    click.echo(users)
