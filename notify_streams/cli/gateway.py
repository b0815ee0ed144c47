"""`notify gateway`: the HTTP side."""

import sys

import click

from notify_streams import logs
from notify_streams.settings import load


@click.command()
def gateway() -> None:
    """Serve HTTP until SIGTERM: events in; status, explanations, inbox and preferences out."""
    from notify_streams import bootstrap

    logs.configure()
    settings = load()
    try:
        bootstrap.gateway(settings)
    except OSError as error:
        place = f"{settings.gateway.host}:{settings.gateway.port}"
        click.echo(
            f"notify: the gateway cannot listen on {place}: {error.strerror}. Another port: gateway.port", err=True
        )
        sys.exit(1)
