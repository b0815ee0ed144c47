"""`notify replay`: the log read again, and what of it has had no effect yet."""

import sys
from collections.abc import Sequence

import click

from notify_streams.replay import plan
from notify_streams.replay.plan import PlanError, Selection
from notify_streams.settings import Kafka, load
from notify_streams.streaming import topics

from . import replaying
from .reading import answered
from .replay_report import tell
from .times import Instant


@click.command()
@click.argument("topic")
@click.option("--offsets", multiple=True, metavar="P:FROM-TO", help="Of partition P; TO is excluded. May be repeated.")
@click.option("--since", type=Instant(), help="Start of a span of the broker's time: so long ago, or an instant.")
@click.option("--until", type=Instant(), help="Its end, the same way.")
@click.option("--user", "users", multiple=True, help="Only of this user. May be repeated, as all of these.")
@click.option("--type", "types", multiple=True, help="Only of this type.")
@click.option("--event", "events", multiple=True, help="Only of the event of this id, or 'SOURCE ID'.")
@click.option("--json", "as_json", is_flag=True, help="The account, as JSON.")
def replay(
    topic: str,
    offsets: Sequence[str],
    since: int | None,
    until: int | None,
    users: Sequence[str],
    types: Sequence[str],
    events: Sequence[str],
    as_json: bool,
) -> None:
    """Read TOPIC again: what became of each notification in it, by user and channel, and what had no effect yet.

    TOPIC is events.LANE, notifications.LANE, deliveries.CHANNEL.LANE or decisions. Nothing is sent.
    """
    config = load()
    try:
        selection = Selection(
            topic=topic_of(topic, config.kafka),
            offsets=dict(map(plan.offsets_of, offsets)),
            since=since,
            until=until,
            users=frozenset(users),
            types=frozenset(types),
            events=frozenset(events),
        )
    except PlanError as error:
        raise click.UsageError(str(error)) from error
    if since is not None and until is not None and since >= until:
        raise click.UsageError("--since has to lie before --until")
    try:
        account = answered(replaying.report(config, selection, shown=not as_json))
    except PlanError as error:
        click.echo(f"notify: {error}", err=True)
        sys.exit(1)
    tell(selection, account, as_json=as_json)
    sys.exit(0 if account.adds_up() else 1)


def topic_of(name: str, kafka: Kafka) -> str:
    """The topic without prefix. Raises PlanError."""
    return plan.replayable(name, kafka.prefix, (one.name for one in topics.all_topics(kafka)))
