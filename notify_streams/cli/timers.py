"""`notify timers`: what waits for a user."""

import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack

import click
import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from notify_streams.domain.accept import why_no_user_id
from notify_streams.records.verdicts import clock
from notify_streams.settings import Kafka, load
from notify_streams.waiting import waiting_for
from tables.waiting import Waiting

from .reading import answered
from .times import now_ms

_PATIENCE_S, _PIPED_WIDTH = 1.0, 240
_UNITS = ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


@click.command()
@click.argument("user")
@click.option("--json", "as_json", is_flag=True, help="The timers as a JSON list; instants in ms since the epoch.")
def timers(user: str, as_json: bool) -> None:
    """List what waits for USER: retries, what was deferred or scheduled, digests. The earliest first.

    Read from the log of the timers' table, so it needs the broker alone. What was released a moment ago may still be
    listed.
    """
    fault = why_no_user_id(user)
    if fault is not None:
        raise click.UsageError(f"{user!r} is no user id: {fault}")
    found = answered(_found(load().kafka, user))
    if as_json:
        click.echo(msgspec.json.encode(found))
    elif found:
        _print(user, found)
    else:
        click.echo(f"Nothing waits for {user}.")


async def _found(kafka: Kafka, user: str) -> Sequence[Waiting]:
    with ExitStack() as stack:
        return await waiting_for(kafka, user, progress=_Shown(stack))


class _Shown:
    """Progress on a terminal, from the second second on."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack, self._since = stack, time.monotonic()
        self._bar: Progress | None = None

    def __call__(self, done: int, all_: int) -> None:
        if self._bar is None and time.monotonic() - self._since > _PATIENCE_S and sys.stderr.isatty():
            columns = (TextColumn("reading timers"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bar = self._stack.enter_context(Progress(*columns, console=Console(stderr=True), transient=True))
            self._bar.add_task("", total=all_)
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, total=all_)


def _print(user: str, found: Sequence[Waiting]) -> None:
    now = now_ms()
    click.secho(f"{len(found):,} timers wait for {user}" if len(found) > 1 else f"1 timer waits for {user}", bold=True)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("due", "", "lane", "returns to", "brings back", "timer"):
        table.add_column(name, overflow="fold", no_wrap=name in {"due", "", "lane"})
    for one in found:
        brings = f"{one.brings} ({one.notification_id})" if one.notification_id else one.brings
        table.add_row(clock(one.due_at), in_words(one.due_at - now), one.lane, one.target, brings, one.timer_id)
    Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH, highlight=False, markup=False).print(table)


def in_words(ms: int) -> str:
    """How far off an instant is, in its two greatest units: 'in 3 hours 5 minutes', '2 minutes ago'."""
    seconds, parts = abs(ms) // 1000, list[str]()
    for size, unit in _UNITS:
        count, seconds = divmod(seconds, size)
        if count or parts:
            parts.append(f"{count} {unit}{'' if count == 1 else 's'}" if count else "")
    span = " ".join(part for part in parts[:2] if part)
    if not span:
        return "now"
    return f"in {span}" if ms > 0 else f"{span} ago"
