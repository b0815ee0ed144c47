"""`notify explain`: the story of a notification, and of what was not sent."""

import sys
from itertools import groupby
from typing import NoReturn

import click
import msgspec

from notify_streams.domain.ids import notification_id as id_of
from notify_streams.records.explain import Line, Story
from notify_streams.records.explain import explain as told
from notify_streams.records.verdicts import clock
from notify_streams.records.verify import Check
from notify_streams.settings import Settings, load

from .reading import answered, opened
from .verifying import checks, show


@click.command()
@click.argument("notification_id", required=False)
@click.option("--user", help="With --source and --event: whose notification.")
@click.option("--source", help="The event's `source`.")
@click.option("--event", help="The event's `id`.")
@click.option("--dedupe-key", help="The event's `data.dedupe_key`, if it has one; then it counts instead of the id.")
@click.option("--verify", is_flag=True, help="Decide again from the records, and compare.")
@click.option("--json", "as_json", is_flag=True, help="Story, status and decisions, or what was verified, as JSON.")
def explain(
    notification_id: str | None,
    user: str | None,
    source: str | None,
    event: str | None,
    dedupe_key: str | None,
    verify: bool,
    as_json: bool,
) -> None:
    """Tell what became of NOTIFICATION_ID, or of an event for a user, and why. Exit 1 when nothing is recorded.

    With --verify every decision is made again from what its record embeds; exit 1 where another one comes out, or
    none, for want of the catalogue.
    """
    if notification_id is None:
        if user is None or source is None or (event is None and dedupe_key is None):
            raise click.UsageError("name a NOTIFICATION_ID, or --user, --source and --event (or --dedupe-key)")
        notification_id = id_of(source, event or "", dedupe_key, user)
    notification_id = checked(notification_id)
    if verify:
        sys.exit(not show(notification_id, answered(_checks(load(), notification_id)), as_json=as_json))
    story = answered(_story(load(), notification_id))
    if story is None:
        nothing(notification_id)
    if as_json:
        click.echo(msgspec.json.encode(story))
    else:
        _print(notification_id, story)


def checked(notification_id: str) -> str:
    """The id in its usual spelling. Raises UsageError for what is none."""
    try:
        return str(click.UUID.convert(notification_id, None, None))
    except click.BadParameter as error:
        raise click.UsageError(f"{notification_id!r} is no notification id: they are UUIDs") from error


def nothing(notification_id: str) -> NoReturn:
    """Say that there is no record, and leave."""
    click.echo(
        f"Nothing is recorded of notification {notification_id}.\n"
        "Either its event was never accepted, or it is still on its way to the recorder, or it is older than\n"
        "retention.facts. What could not be accepted is on the topic dead-letters, with the field and the reason.",
        err=True,
    )
    sys.exit(1)


async def _story(config: Settings, notification_id: str) -> Story | None:
    async with opened(config) as records:
        return told(notification_id, await records.facts(notification_id))


async def _checks(config: Settings, notification_id: str) -> list[Check]:
    async with opened(config) as records:
        return await checks(records, notification_id)


def _print(notification_id: str, story: Story) -> None:
    click.secho(story.headline, bold=True)
    click.echo(f"notification {notification_id}")
    for day, lines in groupby(story.lines, key=_day):
        click.echo(f"\n{day}")
        for line in lines:
            click.echo(f"  {click.style(clock(line.at)[11:], dim=True)}  {line.text}")
    click.echo()
    for sentence in story.ending:
        click.echo(sentence)


def _day(line: Line) -> str:
    return clock(line.at)[:10]
