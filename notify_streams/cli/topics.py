"""`notify topics`: make them, check them."""

import asyncio
import json
import sys
from collections.abc import Coroutine
from typing import Any

import click

from notify_streams.ports import Unavailable
from notify_streams.settings import load


@click.group()
def topics() -> None:
    """The topics on the broker."""


@topics.command()
def create() -> None:
    """Make the topics that are missing, and give the others the settings of this version. May be repeated."""
    from notify_streams.streaming import topics as known

    kafka = load().kafka
    wanted = known.all_topics(kafka)
    made = _answered(known.create(kafka, wanted))
    click.echo(f"{len(made)} topics made, {len(wanted) - len(made)} were there")
    for name in _answered(known.align(kafka, wanted)):
        click.echo(f"changed the settings of {name}")


@topics.command()
@click.option("--json", "as_json", is_flag=True, help="The faults, as JSON.")
def check(as_json: bool) -> None:
    """Say what is wrong with the topics; exit code 1 if anything is."""
    from notify_streams.streaming import topics as known

    kafka = load().kafka
    faults = _answered(known.check(kafka, known.all_topics(kafka)))
    if as_json:
        click.echo(json.dumps({"faults": faults}))
    elif faults:
        click.echo("\n".join(faults))
    else:
        click.echo(f"{len(known.all_topics(kafka))} topics as they should be")
    sys.exit(1 if faults else 0)


def _answered(call: Coroutine[Any, Any, list[str]]) -> list[str]:
    try:
        return asyncio.run(call)
    except Unavailable as error:
        click.echo(f"notify: {error}. Is the broker running? `notify up` starts one.", err=True)
        sys.exit(1)
