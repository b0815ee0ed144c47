"""`notify schema`: the tables in Cassandra, made and checked."""

import asyncio
import json
import sys

import click

from notify_streams import settings
from notify_streams.settings import Retention, Settings, seconds
from notify_streams.stores.cassandra import connect
from notify_streams.stores.schema import Definition, check, create, definitions
from notify_streams.streaming.waiting import patiently

from .reading import answered


def tables(retention: Retention) -> list[Definition]:
    """All of them, with the times to live of the settings."""
    values = {"inbox_ttl": int(seconds(retention.inbox)), "facts_ttl": int(seconds(retention.facts))}
    return [d for part in ("inbox", "records") for d in definitions(f"notify_streams.{part}", values)]


async def create_tables(config: Settings) -> list[str]:
    """Wait for Cassandra and make what is missing; what was made, one phrase each."""
    session = await patiently("cassandra", lambda: connect(config.cassandra, keyspace=False))
    try:
        return await create(session, config.cassandra, tables(config.retention))
    finally:
        await session.close()


async def check_tables(config: Settings) -> list[str]:
    """What is wrong with the tables, one sentence each. Raises Unavailable."""
    session = await connect(config.cassandra, keyspace=False)
    try:
        return check(session, config.cassandra, tables(config.retention))
    finally:
        await session.close()


@click.group()
def schema() -> None:
    """The keyspace and tables in Cassandra."""


@schema.command("create")
@click.option("--json", "as_json", is_flag=True, help="What was made, as JSON.")
def create_command(as_json: bool) -> None:
    """Make what is missing. Waits for Cassandra; may be repeated."""
    made = asyncio.run(create_tables(settings.load()))
    if as_json:
        click.echo(json.dumps({"made": made}))
        return
    for phrase in made:
        click.echo(f"made {phrase}")
    if not made:
        click.echo("nothing to do: keyspace, tables and indexes are there")


@schema.command("check")
@click.option("--json", "as_json", is_flag=True, help="The faults, as JSON.")
def check_command(as_json: bool) -> None:
    """Compare with what this version needs; exit 1 when something differs."""
    faults = answered(check_tables(settings.load()))
    if as_json:
        click.echo(json.dumps({"faults": faults}))
    else:
        for fault in faults:
            click.echo(fault, err=True)
        click.echo(
            "run `notify schema create`" if faults else "all tables are as this version needs them", err=bool(faults)
        )
    sys.exit(1 if faults else 0)
