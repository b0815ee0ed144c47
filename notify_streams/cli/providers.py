"""`notify providers`: providers to try things on."""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
import uvloop

from notify_streams import settings
from notify_streams.gateway.keys import KeyRing
from notify_streams.providers.simulator.credentials import NotOurs
from notify_streams.providers.simulator.serve import Ports, PortTaken, Running, serve

_SMTP_PORT, _HTTP_PORT, _APNS_PORT = 1025, 8025, 8026
_PORT = click.IntRange(0, 65_535)
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@click.group()
def providers() -> None:
    """Whom messages go to."""


@providers.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option(
    "--smtp-port", type=_PORT, help=f"Default: the port in providers.smtp.url if that is here, or {_SMTP_PORT}."
)
@click.option(
    "--http-port",
    type=_PORT,
    help=f"Pages, log, script, health, and FCM, Web Push, SES, SendGrid, Twilio, webhooks. Default: {_HTTP_PORT}.",
)
@click.option(
    "--apns-port", type=_PORT, help=f"Default: the port in providers.apns.url if that is here, or {_APNS_PORT}."
)
@click.option("--log", "log_path", type=click.Path(path_type=Path, dir_okay=False), help="One JSON line per message.")
@click.option(
    "--credentials",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of keys, made once. Default: simulator/credentials in local.state.",
)
@click.option("--receipts-to", metavar="URL", help="The gateway. Default: gateway.public_url; empty: no receipts.")
def simulate(
    host: str,
    smtp_port: int | None,
    http_port: int | None,
    apns_port: int | None,
    log_path: Path | None,
    credentials: Path | None,
    receipts_to: str | None,
) -> None:
    """Every provider's protocol for real: an exact log, answers as told, receipts, and pages to watch and change it.

    SMTP on one port, APNs (HTTP/2 over TLS) on another, all others below paths of the HTTP port. Port 0 takes a free
    one. On the HTTP port: GET /log?since=N, GET /counts, DELETE /log; PUT /script
    {"recipient": "ann@*", "provider": "smtp", "answers": [{"stage": "data", "code": 451}], "then": ["bounced"]}
    tells what recipients get in turn (stages data, rcpt, drop, reset, hang, delay) and what is said later; PUT /weather
    {"provider": "fcm", "latency_s": 0.1, "refused": 0.01, "code": 503, "dropped": 0.001} what everybody gets;
    DELETE /script forgets both. Pages: / shows every message with its answer and the receipts posted of it, /behaviour
    the weather and rules in force, and changes them. What the settings have to be is written to settings.toml in the
    folder of keys.
    """
    known = settings.load()
    state = Path(known.local.state) / "simulator"
    keys = credentials or state / "credentials"
    ports = Ports(
        host,
        smtp=_port(known, "smtp", _SMTP_PORT) if smtp_port is None else smtp_port,
        http=known.worker.health_port or _HTTP_PORT if http_port is None else http_port,
        apns=_port(known, "apns", _APNS_PORT) if apns_port is None else apns_port,
    )
    serving = serve(
        ports,
        partial(_say, keys),
        log=log_path or state / "mails.jsonl",
        credentials=keys,
        receipts_to=known.gateway.public_url if receipts_to is None else receipts_to,
        hook_secrets=_of_producers(known),
    )
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            runner.run(serving)
        except (PortTaken, NotOurs) as error:
            raise click.ClickException(str(error)) from error


def _port(known: settings.Settings, provider: str, default: int) -> int:
    url = urlsplit(known.providers[provider].url) if provider in known.providers else urlsplit("")
    return url.port or default if url.hostname in _LOOPBACK else default


def _of_producers(known: settings.Settings) -> Callable[[], Iterable[str]]:
    """The secrets of webhooks to producers, as they are now."""
    ring = KeyRing(Path(known.auth.keys_file))
    return lambda: [key.webhook_secret for key in ring.with_webhooks() if key.webhook_secret]


def _say(keys: Path, running: Running) -> None:
    path = keys / "settings.toml"
    path.touch(mode=0o600)
    path.write_text(_toml(running.settings))
    http = f"http://{running.host}:{running.http_port}"
    click.echo(
        f"simulator: mail to smtp://{running.host}:{running.smtp_port}, APNs at https://{running.host}:"
        f"{running.apns_port}, everything else and the pages at {http}/, log in {running.log.path}, "
        f"settings to use it in {path}"
    )


def _toml(sections: Mapping[str, Mapping[str, Any]]) -> str:
    lines: list[str] = []
    for section, values in sections.items():
        lines += [f"[{section}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items()), ""]
    return "\n".join(lines)
