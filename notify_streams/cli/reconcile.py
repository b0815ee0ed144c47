"""`notify reconcile`: does everything that was published add up?"""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

import click
import msgspec
from prometheus_client import start_http_server
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from notify_streams import bootstrap
from notify_streams.metrics import UNACCOUNTED
from notify_streams.ports import Unavailable
from notify_streams.records.account import LISTED, Account, Open
from notify_streams.records.reconcile import TooMany
from notify_streams.records.reconcile import reconcile as accounted
from notify_streams.records.verdicts import clock
from notify_streams.settings import Settings, load

from .reading import answered, opened
from .times import Duration, Instant, is_duration, now_ms

_SHOWN = 20


@click.command()
@click.option("--since", default="10m", show_default=True, help="Start: so long ago, or an instant.")
@click.option("--until", type=Instant(), help="End, the same way; now when left out.")
@click.option("--grace", type=Duration(), default="2m", show_default=True, help="What is younger is under way.")
@click.option("--sample", type=click.FloatRange(0, 1, min_open=True), default=1.0, show_default=True)
@click.option("--watch", is_flag=True, help="Repeat, and serve the metric notify_unaccounted on the health port.")
@click.option("--every", type=Duration(), default="60s", show_default=True, help="With --watch.")
@click.option("--json", "as_json", is_flag=True, help="The account as JSON, one line a run.")
def reconcile(since: str, until: int | None, grace: int, sample: float, watch: bool, every: int, as_json: bool) -> None:
    """Read the events of a span, derive the notifications, and look up what became of each.

    Exit 1 when one that is older than the grace neither ended nor waits for something known.
    """
    config = load()
    start = Instant().convert(since, None, None)
    if watch:
        if until is not None or not is_duration(since):
            raise click.UsageError("--watch wants --since as a duration, and no --until")
        _watch(config, since, grace, sample, every, as_json)
    end = now_ms() if until is None else until
    if start >= end:
        raise click.UsageError("--since has to lie before --until")
    try:
        account = answered(run(config, since=start, until=end, grace_ms=grace, sample=sample, shown=not as_json))
    except TooMany as error:
        raise click.ClickException(str(error)) from error
    _tell(account, as_json)
    sys.exit(0 if account.unaccounted_count == 0 else 1)


async def run(
    config: Settings, *, since: int, until: int, grace_ms: int = 120_000, sample: float = 1.0, shown: bool = False
) -> Account:
    """One account by the settings; `shown` draws progress on a terminal. Raises Unavailable."""
    catalogue, limits = bootstrap.catalogue(config), bootstrap.limits(config)
    console = Console(stderr=True)
    columns = (
        TextColumn("reading events"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]:,.0f}/s"),
    )
    async with opened(config) as records:
        with Progress(
            *columns, TimeRemainingColumn(), console=console, disable=not (shown and console.is_terminal)
        ) as bar:
            task = bar.add_task("", total=None, rate=0.0)

            def told(done: int, all_: int) -> None:
                elapsed = bar.tasks[0].elapsed or 0.001
                bar.update(task, completed=done, total=all_, rate=done / elapsed)

            return await accounted(
                config.kafka,
                records,
                catalogue,
                limits,
                since=since,
                until=until,
                clock=now_ms,
                grace_ms=grace_ms,
                sample=sample,
                progress=told,
            )


def _watch(config: Settings, since: str, grace_ms: int, sample: float, every_ms: int, as_json: bool) -> NoReturn:
    server, _ = start_http_server(config.worker.health_port, config.worker.health_host)
    click.echo(f"notify_unaccounted at http://{config.worker.health_host}:{server.server_port}/metrics", err=True)
    asyncio.run(_repeat(config, since, grace_ms, sample, every_ms / 1000, as_json))


async def _repeat(
    config: Settings, since: str, grace_ms: int, sample: float, every_s: float, as_json: bool
) -> NoReturn:
    while True:
        start = Instant().convert(since, None, None)
        try:
            account = await run(config, since=start, until=now_ms(), grace_ms=grace_ms, sample=sample)
        except (Unavailable, TooMany) as error:
            click.echo(f"notify: no account this time: {error}", err=True)
        else:
            UNACCOUNTED.set(account.unaccounted_count)
            _tell(account, as_json)
        await asyncio.sleep(every_s)


def _tell(account: Account, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode({**msgspec.structs.asdict(account), "adds_up": account.adds_up()}))
        return
    rate = account.published / account.seconds if account.seconds else 0
    click.echo(f"{clock(account.since)} to {clock(account.until)}: {account.seconds:.1f} s, {rate:,.0f} events/s")
    click.secho(_sum("published", account.published, _events(account)), bold=True)
    if account.rejections:
        click.echo("  rejected: " + ", ".join(f"{code} {n:,}" for code, n in account.rejections.most_common()))
    click.echo(f"{account.notifications:,} notifications on their channels:")
    for channel, terms in sorted(account.channels.items()):
        click.echo("  " + _sum(channel, terms.total(), terms))
    for flag, count in account.flags.most_common():
        click.echo(f"  flagged {flag}: {count:,}")
    _list("under way", account.in_flight_count, account.in_flight)
    _list("UNACCOUNTED FOR", account.unaccounted_count, account.unaccounted)
    click.secho("It adds up." if account.adds_up() else "It does not add up.", bold=True)


def _events(account: Account) -> dict[str, int]:
    names = ("accepted", "rejected", "tombstones", "duplicates", "unsampled")
    return {name: getattr(account, name) for name in names}


def _sum(name: str, total: int, terms: Mapping[str, int]) -> str:
    parts = " + ".join(f"{count:,} {term}" for term, count in terms.items() if count)
    return f"{total:,} {name} = {parts or 0}"


def _list(title: str, count: int, cases: Sequence[Open]) -> None:
    if count:
        click.echo(f"{count:,} {title}:")
    for case in cases[:_SHOWN]:
        known = ", ".join(f"{channel} {state}" for channel, state in case.channels.items()) or "nothing recorded"
        click.echo(f"  {case.notification_id}  {case.type} for {case.user_id}, {case.origin}: {known}")
    if count > _SHOWN:
        click.echo(f"  and {count - _SHOWN:,} more (--json names {LISTED:,})")
