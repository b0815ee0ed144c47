"""`notify dead-letters`: what could not be processed or used up its attempts, and back with it once that is mended."""

import json
import sys
from collections import Counter
from collections.abc import Awaitable, Sequence
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.table import Table

from notify_streams.cli.reading import answered
from notify_streams.records.dead_letters import MOST, DeadLetterLog, NoSuchLetter
from notify_streams.records.verdicts import clock
from notify_streams.settings import load
from schemas.deadletters import DeadLetter

T = TypeVar("T")
_PIPED_WIDTH = 240
_stage = click.option("--stage", default="", help="Only of this stage, such as ingest or sender-email.")
_class = click.option("--class", "error_class", default="", help="Only of this class, such as ValidationError.")
_limit = click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True)
_as_json = click.option("--json", "as_json", is_flag=True, help="JSON instead of words.")


@click.group("dead-letters")
def dead_letters() -> None:
    """Records that could not be processed, and deliveries that used up their attempts.

    What producers got wrong is here too: putting it back as it is does no good. Kept as long as the topic is.
    """


@dead_letters.command("list")
@_stage
@_class
@_limit
@_as_json
def list_(stage: str, error_class: str, limit: int, as_json: bool) -> None:
    """The newest, with where they came from and why they are here."""
    letters = _answered(DeadLetterLog(load().kafka).newest(limit, stage=stage, error_class=error_class))
    if as_json:
        click.echo(json.dumps([_plain(letter) for letter in letters]))
    elif letters:
        _print(letters)
    else:
        click.echo("No dead letters" + (" that fit." if stage or error_class else "."))


@dead_letters.command()
@click.argument("letter")
@_as_json
def show(letter: str, as_json: bool) -> None:
    """One LETTER (its id is PARTITION-OFFSET) with its key and value, whole."""
    found = _answered(DeadLetterLog(load().kafka).one(letter))
    if as_json:
        click.echo(json.dumps({**_plain(found), "key": _text(found.key), "value": _text(found.value)}))
        return
    for name, value in _plain(found).items():
        click.echo(f"{name:<12} {value}")
    click.echo(f"{'key':<12} {_text(found.key)}\n\n{_text(found.value)}")


@dead_letters.command()
@click.argument("letters", nargs=-1)
@_stage
@_class
@_limit
@click.option("--yes", is_flag=True, help="Do not ask.")
def redrive(letters: tuple[str, ...], stage: str, error_class: str, limit: int, yes: bool) -> None:
    """Put LETTERS, or the newest that fit, back onto the topics they came from, as they are.

    What was done already is not done twice. A delivery is attempted again, with all of its attempts before it.
    """
    if bool(letters) == bool(stage or error_class):
        raise click.UsageError("name letters, or narrow them by --stage or --class")
    log = DeadLetterLog(load().kafka)
    ids = letters or tuple(one.id for one in _answered(log.newest(limit, stage=stage, error_class=error_class)))
    if not ids:
        click.echo("No dead letters that fit.")
        return
    if not yes and not _agreed(f"Put {len(ids):,} dead letters back where they came from?"):
        click.echo("Nothing was put back: --yes is needed.", err=True)
        sys.exit(1)
    click.echo(f"{_answered(log.redrive(ids)):,} dead letters were put back.")


def _answered(work: Awaitable[T]) -> T:
    try:
        return answered(work)
    except NoSuchLetter as error:
        click.echo(f"notify: there is no dead letter {error} (any more) that could be put back or shown", err=True)
        sys.exit(1)


def _agreed(question: str) -> bool:
    return sys.stdin.isatty() and click.confirm(question)


def _plain(letter: DeadLetter) -> dict[str, Any]:
    names = ("id", "stage", "error_class", "error", "attempts", "topic", "partition", "offset", "failed_at", "version")
    return {name: getattr(letter, name) for name in names}


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")


def _print(letters: Sequence[DeadLetter]) -> None:
    kinds = Counter((one.stage, one.error_class) for one in letters)
    said = ", ".join(f"{count:,} {error} at {stage}" for (stage, error), count in kinds.most_common())
    click.secho(f"{len(letters):,} dead letters: {said}", bold=True)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("letter", "failed", "stage", "class", "why", "from"):
        table.add_column(name, overflow="fold", no_wrap=name in {"letter", "failed", "stage"})
    for one in letters:
        place = f"{one.topic} {one.partition}/{one.offset}"
        table.add_row(one.id, clock(one.failed_at), one.stage, one.error_class, one.error, place)
    Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH, highlight=False, markup=False).print(table)
    if len(letters) >= MOST:
        click.echo(f"Of each partition only the last {MOST:,} were looked at.")
