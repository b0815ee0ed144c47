"""`notify preferences`: what a user chose, and changes of many users at once."""

import sys
from typing import TYPE_CHECKING, BinaryIO

import click
import msgspec
from rich.console import Console
from rich.table import Table

from notify_streams.domain.accept import why_no_user_id
from notify_streams.settings import Settings, load
from schemas.profiles import NOBODY, ProfileV1

if TYPE_CHECKING:
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
    from notify_streams.cli import bulk
    from notify_streams.cli.importing import judged

    settings = load()
    known = bootstrap.catalogue(settings)
    how = bulk.How(dry_run, yes, patience, as_json)
    bulk.carry_out(settings, file, lambda lines: judged(lines, known), "changes of preferences", how)


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
