"""`notify keys`: who may call the gateway."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import click

from notify_streams.domain.urls import REFUSED, may_be_called
from notify_streams.gateway import keys as ring
from notify_streams.gateway.keys import Key, Role
from notify_streams.providers.webhook import signing
from notify_streams.settings import Provider, SettingsError, load

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@click.group()
def keys() -> None:
    """Keys of producers, services and operators. A running gateway notices changes by itself."""


@keys.command()
@click.argument("name")
@click.option("--role", type=click.Choice(["producer", "service", "operator"]), default="producer", show_default=True)
@click.option("--source", "sources", multiple=True, help="Glob of CloudEvents sources it may name; all when left out.")
@click.option("--type", "types", multiple=True, help="Glob of notification types it may publish; all when left out.")
@click.option("--rate", default=1000, show_default=True, type=click.IntRange(1), help="Events a second.")
@click.option("--tenant", default="", help="Tenant of its events, unless the settings name one for their source.")
@click.option(
    "--webhook",
    default="",
    help="URL that is told how notifications of its sources fare (of all without --source), by Standard Webhooks.",
)
def create(
    name: str, role: Role, sources: tuple[str, ...], types: tuple[str, ...], rate: int, tenant: str, webhook: str
) -> None:
    """Make a key called NAME and print it, this once; below it the secret of its webhook, where it has one."""
    if not _NAME.fullmatch(name):
        raise click.UsageError("NAME has 1 to 64 letters, digits, dots, dashes and underscores")
    if webhook and role != "producer":
        raise click.UsageError("--webhook: only producers have notifications of their own")
    if webhook and not may_be_called(webhook, allow_private=load().providers.get("webhook", Provider()).allow_private):
        raise click.UsageError(f"--webhook: {REFUSED}")
    secret, path = ring.new_secret(), _path()
    webhook_secret = signing.new_secret() if webhook else ""
    key = Key(
        name=name,
        role=role,
        hash="",
        sources=sources or ("*",),
        types=types or ("*",),
        rate=rate,
        tenant=tenant,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        webhook=webhook,
        webhook_secret=webhook_secret,
    )
    new = not path.exists()
    _done(lambda: ring.create(path, key, secret))
    if new:
        click.echo(f"{path} is a new file: a gateway knows the key only if its auth.keys_file names it", err=True)
    click.echo(f"{role} key {name} is in {path} (auth.keys_file), hashed; it is shown this once:", err=True)
    click.echo(secret)
    if webhook_secret:
        click.echo("its webhook is signed with this secret, which is shown this once too:", err=True)
        click.echo(webhook_secret)


@keys.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON array.")
def list_(as_json: bool) -> None:
    """Show the keys, never their secrets."""
    known = ring.read(_path())
    if as_json:
        fields = ("name", "role", "sources", "types", "rate", "tenant", "created_at", "webhook")
        click.echo(json.dumps([{field: getattr(key, field) for field in fields} for key in known]))
        return
    for key in known:
        may = f"sources {' '.join(key.sources)}, types {' '.join(key.types)}, {key.rate}/s"
        may += f", webhook {key.webhook}" if key.webhook else ""
        click.echo(
            f"{key.name:<24} {key.role:<9} {key.created_at:<26} {may if key.role == 'producer' else ''}".rstrip()
        )


@keys.command()
@click.argument("name")
def revoke(name: str) -> None:
    """Take the key called NAME out; it stops working at once."""
    _done(lambda: ring.revoke(_path(), name))
    click.echo(f"{name} is revoked", err=True)


def _path() -> Path:
    return Path(load().auth.keys_file).absolute()


def _done(change: Callable[[], None]) -> None:
    try:
        change()
    except SettingsError as error:
        raise click.ClickException(str(error)) from error
