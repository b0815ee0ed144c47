"""`notify demo`: the whole system, an hour of a shop and a social app, and an account in which everything adds up."""

import asyncio
import importlib
import logging
import os
import secrets
import sys
import time
from collections.abc import Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import click
from aiokafka.errors import KafkaError

from notify_streams import settings
from notify_streams.local import detached
from notify_streams.local.demo.api import ApiError
from notify_streams.local.demo.lines import Run
from notify_streams.local.engine import EngineError
from notify_streams.local.lock import InUse
from notify_streams.local.status import Status
from notify_streams.local.system import Plan, System, UpError
from notify_streams.ports import Unavailable

from . import up
from .demo_screen import Screen, screen

T = TypeVar("T")
_FIRST = {"gateway", "orchestrator"}  # people can be enrolled while the others still start
# Short waits, so that retries and unknown outcomes end within the run.
_FOR_THE_DEMO = {
    "CHANNELS__EMAIL__PROVIDERS": '["ses", "sendgrid", "smtp"]',
    "CHANNELS__EMAIL__RETRY__BASE": "1s",
    "CHANNELS__EMAIL__RETRY__CAP": "2s",
    "CHANNELS__EMAIL__RETRY__ATTEMPTS": "4",
    "CHANNELS__SMS__RETRY__BASE": "1s",
    "CHANNELS__EMAIL__LOCK": "10s",
    "AUTH__MODE": "keys",
    "AUTH__JWT_ALGORITHM": "HS256",
}


@click.command()
@click.option("--once", is_flag=True, help="Stop the system at the end; exit code 0 only if everything added up.")
@click.option("--fresh", is_flag=True, help="Forget all data first: topics, inboxes, facts, tables.")
@click.option("--began", type=float, hidden=True, help="When the caller started, in seconds since the epoch.")
def demo(once: bool, fresh: bool, began: float | None) -> None:
    """Start everything, play an hour of a shop and a social app, and show that it adds up. Ctrl-C stops all of it."""
    tokens = secrets.token_hex(32)
    state = Path(settings.load().local.state).absolute()
    chosen = {**_FOR_THE_DEMO, "AUTH__JWT_SECRET": tokens, "AUTH__KEYS_FILE": str(state / "keys.json")}
    os.environ.update({settings.PREFIX + name: value for name, value in chosen.items()})
    plan = up.plan_of(None, fresh, False)
    log = plan.state / "logs" / detached.LOG
    log.parent.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(filename=log, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    shown = screen(time.time() if began is None else began)
    try:
        asyncio.run(up.until_told(_demo(plan, tokens, shown, once=once), shown.say))
    except (InUse, EngineError, UpError, ApiError, KafkaError, Unavailable) as error:
        shown.close()
        click.echo(f"notify demo: {error}", err=True)
        sys.exit(1)
    shown.close()
    sys.exit(0 if shown.added_up else 1)


async def _demo(plan: Plan, tokens: str, shown: Screen, *, once: bool) -> None:
    """Raises what `System.run` and `play` raise; nothing is left running."""
    loop = asyncio.get_running_loop()
    reachable, ready = loop.create_future(), loop.create_future()

    def draw(status: Status) -> None:
        shown.draw(status)
        if not reachable.done() and {row.name for row in status.rows if row.state == "ready"} >= _FIRST:
            reachable.set_result(status)
        if not ready.done() and status.state == "ready":
            ready.set_result(status)

    system = asyncio.create_task(System(plan, say=shown.say, draw=draw).run())
    wiring = asyncio.create_task(asyncio.to_thread(importlib.import_module, "notify_streams.cli.demo_wiring"))
    try:
        status = await _beside(system, _until(reachable))
        perform, run = (await wiring).perform, Run.starting(datetime.now(UTC))
        await _beside(system, perform(plan, status, run, tokens, shown, ready, once=once))
        if not once:
            await system
    finally:
        system.cancel()
        await asyncio.gather(system, return_exceptions=True)
    shown.verdict()


async def _beside(system: asyncio.Task[None], work: Coroutine[Any, Any, T]) -> T:
    """The result of the work, or the system's own error if that ends first."""
    doing = asyncio.create_task(work)
    try:
        await asyncio.wait({system, doing}, return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            system.result()
        return await doing
    finally:
        doing.cancel()
        await asyncio.gather(doing, return_exceptions=True)


async def _until(future: asyncio.Future[T]) -> T:
    return await future
