"""The `notify` command: names, and where each is found. Nothing is imported until it is called."""

import importlib
import sys

import click

from notify_streams import __version__
from notify_streams.settings import SettingsError

_COMMANDS = {
    "up": "notify_streams.cli.up:up",
    "down": "notify_streams.cli.up:down",
    "status": "notify_streams.cli.up:status",
    "demo": "notify_streams.cli.demo:demo",
    "worker": "notify_streams.cli.worker:worker",
    "topics": "notify_streams.cli.topics:topics",
    "providers": "notify_streams.cli.providers:providers",
    "config": "notify_streams.cli.config:config",
    "explain": "notify_streams.cli.explain:explain",
    "inspect": "notify_streams.cli.inspect:inspect",
    "timers": "notify_streams.cli.timers:timers",
    "dead-letters": "notify_streams.cli.dead_letters:dead_letters",
    "probe": "notify_streams.cli.probe:probe",
    "replay": "notify_streams.cli.replay:replay",
    "reconcile": "notify_streams.cli.reconcile:reconcile",
    "schema": "notify_streams.cli.schema:schema",
    "gateway": "notify_streams.cli.gateway:gateway",
    "keys": "notify_streams.cli.keys:keys",
    "send": "notify_streams.cli.send:send",
    "publish": "notify_streams.cli.publish:publish",
    "preferences": "notify_streams.cli.preferences:preferences",
    "suppressions": "notify_streams.cli.suppressions:suppressions",
}


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, name = _COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="notify")
def notify() -> None:
    """Notifications as streams: events in, mails and inbox entries out, every decision explained."""


def main() -> None:
    """Run the command line. Exit codes: 0 done, 1 failed, 2 wrong usage."""
    try:
        notify(prog_name="notify")
    except SettingsError as error:
        click.echo(f"notify: settings: {error}", err=True)
        sys.exit(2)
