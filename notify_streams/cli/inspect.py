"""`notify inspect`: the state of a notification, with every attempt and what was heard later."""

import sys

import click
import msgspec
from rich.console import Console
from rich.table import Table

from notify_streams.domain.attempts import Attempt, DeliveryStatus
from notify_streams.domain.receipts import Receipt
from notify_streams.domain.status import ChannelStatus, NotificationStatus, fold
from notify_streams.records.verdicts import clock
from notify_streams.settings import Settings, load

from .explain import checked, nothing
from .reading import answered, opened

_COLUMNS = ("channel", "endpoint", "state", "reason", "#", "at", "through", "answer")
_WHOLE = frozenset({"channel", "state", "#", "at"})
_PIPED_WIDTH = 240


@click.command()
@click.argument("notification_id")
@click.option("--json", "as_json", is_flag=True, help="The status as JSON.")
def inspect(notification_id: str, as_json: bool) -> None:
    """Show where NOTIFICATION_ID stands on every channel. Exit 1 when nothing is recorded."""
    status = answered(_status(load(), checked(notification_id)))
    if status is None:
        nothing(notification_id)
    elif as_json:
        click.echo(msgspec.json.encode(status))
    else:
        _print(status)


async def _status(config: Settings, notification_id: str) -> NotificationStatus | None:
    async with opened(config) as records:
        return fold(notification_id, await records.facts(notification_id))


def _print(status: NotificationStatus) -> None:
    flags = f" ({', '.join(status.flags)})" if status.flags else ""
    click.secho(f"{status.notification_id}: {status.state}{flags}", bold=True)
    click.echo(f"{status.type} for {status.user_id}, {status.lane} lane, accepted {clock(status.accepted_at)}")
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in _COLUMNS:
        table.add_column(name, overflow="fold", no_wrap=name in _WHOLE)
    day = clock(status.accepted_at)[:11]
    for channel in status.channels:
        for row in _rows(channel):
            table.add_row(*(cell.removeprefix(day) for cell in row))
    Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH).print(table)


def _rows(channel: ChannelStatus) -> list[tuple[str, ...]]:
    if not channel.deliveries:
        due = f"due {clock(channel.due_at)}" if channel.due_at else ""
        return [(channel.channel, "", channel.state, channel.reason or "", "", "", "", due)]
    return [row for delivery in channel.deliveries for row in _attempts(channel, delivery)]


def _attempts(channel: ChannelStatus, delivery: DeliveryStatus) -> list[tuple[str, ...]]:
    where = channel.channel, delivery.endpoint_id
    if not delivery.attempts and not delivery.receipts:
        return [(*where, delivery.state, "", "", "", "", "")]
    said = [(attempt.at, _attempt(attempt)) for attempt in delivery.attempts]
    said += [(receipt.at, _receipt(receipt)) for receipt in delivery.receipts]
    return [(*where, *cells) for _, cells in sorted(said)]


def _receipt(receipt: Receipt) -> tuple[str, ...]:
    said = receipt.detail or receipt.provider_message_id or ""
    return receipt.state, "", "receipt", clock(receipt.at), receipt.provider, said


def _attempt(attempt: Attempt) -> tuple[str, ...]:
    said = attempt.provider_message_id or attempt.detail
    number = str(attempt.attempt or "")
    answer = f"number {attempt.sequence}" if attempt.sequence is not None else said
    then = f"; next at {clock(attempt.next_at)[11:]}" if attempt.next_at else ""
    return attempt.state, attempt.reason or "", number, clock(attempt.at), attempt.provider, answer + then
