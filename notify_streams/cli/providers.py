"""`notify providers`: a provider to try things on."""

import asyncio
from pathlib import Path

import click
import uvloop

from notify_streams.providers.simulator.serve import PortTaken, Running, serve


@click.group()
def providers() -> None:
    """Whom messages go to."""


@providers.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--smtp-port", default=1025, show_default=True, help="0 takes a free one.")
@click.option("--http-port", default=8025, show_default=True, help="Pages, log, script and health; 0 takes a free one.")
@click.option(
    "--log",
    "log_path",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path(".local/simulator/mails.jsonl"),
    show_default=True,
    help="One JSON line per mail taken or refused; a restart appends.",
)
def simulate(host: str, smtp_port: int, http_port: int, log_path: Path) -> None:
    """A mail server that keeps an exact log, answers as told, and shows the mails."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            runner.run(serve(host, smtp_port, http_port, log_path, _say))
        except PortTaken as error:
            raise click.ClickException(str(error)) from error


def _say(running: Running) -> None:
    click.echo(
        f"simulator: mail to smtp://{running.host}:{running.smtp_port}, "
        f"pages at http://{running.host}:{running.http_port}/, log in {running.log.path}"
    )
