"""`notify providers`: a provider to try things on."""

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

import click
import uvloop

from notify_streams import settings
from notify_streams.providers.simulator.serve import PortTaken, Running, serve

_SMTP_PORT = 1025
_HTTP_PORT = 8025
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@click.group()
def providers() -> None:
    """Whom messages go to."""


@providers.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option(
    "--smtp-port", type=int, help=f"Default: the port in providers.smtp.url if that is here, else {_SMTP_PORT}."
)
@click.option(
    "--http-port", type=int, help=f"Pages, log, script, health. Default: worker.health_port, else {_HTTP_PORT}."
)
@click.option("--log", "log_path", type=click.Path(path_type=Path, dir_okay=False), help="One JSON line per mail.")
def simulate(host: str, smtp_port: int | None, http_port: int | None, log_path: Path | None) -> None:
    """A mail server that keeps an exact log, answers as told, and shows the mails. Port 0 takes a free one."""
    known = settings.load()
    smtp = _smtp_port(known) if smtp_port is None else smtp_port
    http = known.worker.health_port or _HTTP_PORT if http_port is None else http_port
    path = log_path or Path(known.local.state) / "simulator" / "mails.jsonl"
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            runner.run(serve(host, smtp, http, path, _say))
        except PortTaken as error:
            raise click.ClickException(str(error)) from error


def _smtp_port(known: settings.Settings) -> int:
    url = urlsplit(known.providers["smtp"].url) if "smtp" in known.providers else urlsplit("")
    return url.port or _SMTP_PORT if url.hostname in _LOOPBACK else _SMTP_PORT


def _say(running: Running) -> None:
    click.echo(
        f"simulator: mail to smtp://{running.host}:{running.smtp_port}, "
        f"pages at http://{running.host}:{running.http_port}/, log in {running.log.path}"
    )
