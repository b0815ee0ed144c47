"""`notify worker ROLE`: one worker process."""

import sys

import click

from notify_streams import logs
from notify_streams.settings import load


@click.command()
@click.argument("role")
@click.option(
    "--instance",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Names the data directory and the group member.",
)
def worker(role: str, instance: int) -> None:
    """Run the agents of one ROLE until SIGTERM. As many processes as partitions allow, each its own --instance."""
    from notify_streams.bootstrap import ROLES, check
    from notify_streams.streaming.worker import run

    if role not in ROLES:
        raise click.UsageError(f"there is no role {role!r}; the roles are {', '.join(ROLES)}")
    logs.configure()
    settings = load()
    check(role, settings)  # what is wrong is refused at once, not when the engines answer
    sys.exit(run(settings, role, instance, ROLES[role]))
