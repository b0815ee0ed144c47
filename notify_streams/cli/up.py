"""`notify up`, `down`, `status`: everything on this machine, in the foreground or behind it."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import click
import msgspec

from notify_streams import chains, settings
from notify_streams.local import addresses, detached
from notify_streams.local import status as board
from notify_streams.local.engine import EngineError
from notify_streams.local.lock import InUse, owner
from notify_streams.local.programs import ROLES, SENDERS
from notify_streams.local.system import Plan, System, UpError
from notify_streams.providers.simulator.credentials import Credentials
from schemas.words import Channel

from . import view

T = TypeVar("T")


@click.command()
@click.option("--only", type=click.Choice(["engines"]), help="Start Kafka, Cassandra and Redis, and nothing else.")
@click.option("--fresh", is_flag=True, help="Forget all data first: topics, inboxes, facts, tables.")
@click.option("--no-simulator", is_flag=True, help="Messages go where the settings say, not to the simulator.")
@click.option("--detach", is_flag=True, help="Run in the background; return when everything is ready.")
def up(only: str | None, fresh: bool, no_simulator: bool, detach: bool) -> None:
    """Start the engines, every role and the gateway on this machine. Ctrl-C stops all of it."""
    plan = plan_of(only, fresh, no_simulator)
    try:
        if detach:
            flags = {"--fresh": fresh, "--no-simulator": no_simulator}
            chosen = [flag for flag, given in flags.items() if given] + (["--only", only] if only else [])
            _in_background(plan.state, chosen)
        else:
            _in_foreground(plan)
    except (InUse, EngineError, UpError) as error:
        click.echo(f"notify up: {error}", err=True)
        sys.exit(1)


@click.command()
def down() -> None:
    """Stop what `notify up` started here; data and logs stay."""
    state = _state(settings.load())
    try:
        pid = detached.stop(state)
    except (UpError, OSError) as error:
        click.echo(f"notify down: {error}", err=True)
        sys.exit(1)
    click.echo(f"Stopped process {pid}." if pid else f"Nothing runs in {state}.")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def status(as_json: bool) -> None:
    """What runs here, and how it does. Exit code 1 if nothing does."""
    state = _state(settings.load())
    now = board.read(state)
    if now is None:
        click.echo(f"Nothing runs in {state}; `notify up` starts everything.", err=True)
        sys.exit(1)
    if as_json:
        click.echo(msgspec.json.encode(now))
    else:
        view.show(now)


def plan_of(only: str | None, fresh: bool, no_simulator: bool) -> Plan:
    """What the settings make of these options."""
    state = _state(settings.load())
    if owner(state) is None:
        addresses.remove(state)  # left by one that was killed: its ports are no preference of anybody
    found = settings.load()
    smtp = found.providers.get("smtp")
    senders = configured(found) if no_simulator else SENDERS
    return Plan(
        state=state,
        jars=Path(found.local.engines).absolute(),
        fresh=fresh,
        engines_only=only == "engines",
        simulator=None if no_simulator else partial(_simulated, state / "simulator" / "credentials"),
        roles=(*ROLES, *senders),
        public_url=not found.gateway.public_url,
        gateway_port=found.gateway.port,
        smtp_port=(urlsplit(smtp.url).port if smtp else None) or 1025,
    )


def configured(found: settings.Settings) -> tuple[str, ...]:
    """The senders whose providers can be used as the settings are; of the others it is said why not."""
    ready: list[str] = []
    channels: tuple[Channel, ...] = ("push", "sms", "webhook")
    for channel in channels:
        try:
            chains.providers(found, channel)
            ready.append(f"sender-{channel}")
        except settings.SettingsError as error:
            click.echo(f"sender-{channel} is not started: {error}", err=True)
    return tuple(ready)


def _simulated(folder: Path, smtp: str, apns: str, http: str) -> Mapping[str, Mapping[str, Any]]:
    """Its keys are made here once, so that all programs find them when they start."""
    return Credentials(folder, http).settings(smtp=smtp, apns=apns)


def _state(found: settings.Settings) -> Path:
    return Path(found.local.state).absolute()


def _in_background(state: Path, arguments: list[str]) -> None:
    if pid := owner(state):
        raise InUse(state, pid)
    now = detached.start(state, arguments)
    click.echo(f"{now.sentence()} Process {now.pid}; `notify status` shows it, `notify down` stops it.")


def _in_foreground(plan: Plan) -> None:
    log = plan.state / "logs" / detached.LOG
    log.parent.mkdir(parents=True, exist_ok=True)
    if sys.stdout.isatty():
        logging.basicConfig(filename=log, format="%(asctime)s %(levelname)s %(name)s %(message)s")
        with view.Live() as live:
            asyncio.run(until_told(System(plan, say=live.say, draw=live.draw).run(), live.say))
    else:
        logging.basicConfig(level=logging.CRITICAL)
        system = System(plan, say=view.say_plainly, draw=view.Transitions().draw)
        asyncio.run(until_told(system.run(), view.say_plainly))


async def until_told(work: Coroutine[None, None, T], say: Callable[[str], None]) -> T | None:
    """The result of `work`, None if SIGINT or SIGTERM cancelled it; a second signal kills everything at once."""
    running = asyncio.create_task(work)
    loop = asyncio.get_running_loop()
    told = False

    def stop() -> None:
        nonlocal told
        if told:
            os._exit(130)  # the second time means now: the kernel ends all children with this process
        told = True
        say("Stopping; once more to kill everything at once.")
        running.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    try:
        return await running
    except asyncio.CancelledError:
        if not told:
            raise
        return None
