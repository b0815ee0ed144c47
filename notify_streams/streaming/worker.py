"""One worker process from its start to its end."""

import asyncio
import contextlib
import ctypes
import fcntl
import logging
import os
import signal
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import uvloop
from aiohttp import web

from notify_streams.settings import Settings, seconds
from notify_streams.streaming import app as apps
from notify_streams.streaming import health, store, trust, waiting
from notify_streams.streaming.app import App
from notify_streams.streaming.lease import EX_TEMPFAIL
from notify_streams.streaming.settle import leave

log = logging.getLogger(__name__)
Prepare = Callable[[Settings, int, health.Health], Awaitable[App]]
EX_FAILED, EX_USAGE = 1, 2
_M_ARENA_MAX = -8  # of malloc.h
STOP_S = 25.0  # a call to a provider that is under way may take 20


def run(settings: Settings, role: str, instance: int, prepare: Prepare) -> int:
    """Wait for engines, run the role's app until a signal or a crash, stop it cleanly; the exit code.

    `prepare` opens what the role needs besides Kafka and builds the app; it may wait.
    """
    _keep_arenas_few()
    lock = _lock(apps.data_directory(settings, role, instance))
    if lock is None:
        log.critical("worker.refused another process runs %s with instance %d", role, instance)
        return EX_USAGE
    with lock:
        return uvloop.run(_run(settings, role, instance, prepare))


def _keep_arenas_few() -> None:
    """RocksDB's threads would each get a heap of their own from glibc, and none gives back what it freed."""
    with contextlib.suppress(OSError, AttributeError):  # another libc has other heaps
        ctypes.CDLL("libc.so.6").mallopt(_M_ARENA_MAX, 2)


async def _run(settings: Settings, role: str, instance: int, prepare: Prepare) -> int:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    watched = health.Health(role, seconds(settings.worker.stalled_after))
    probes = await health.serve(watched, settings.worker.health_host, settings.worker.health_port)
    log.info("worker.started role=%s instance=%d probes=%s", role, instance, probes.addresses)
    try:
        return await _serve(settings, instance, prepare, watched, stopping)
    except waiting.NotReady as error:
        log.critical("worker.not_ready %s", error)
        return EX_FAILED
    finally:
        await _close(probes)


async def _serve(
    settings: Settings, instance: int, prepare: Prepare, watched: health.Health, stopping: asyncio.Event
) -> int:
    app = await _unless(stopping, _prepared(settings, instance, prepare, watched))
    if app is None:
        return 0
    watched.watch(app)
    trust_tables(app)
    try:
        code = await lived(app, stopping)
    finally:
        for close in app.closers:
            await close()
    if code != EX_FAILED:
        mark_tables(app)
    return code


async def lived(app: App, stopping: asyncio.Event, stop_s: float = STOP_S) -> int:
    """Run the app until it shall stop, crashes, or is refused by its group; stop it in order; the exit code.

    One that is refused is to be started again: whatever the group had against it may have ended by then (a member of
    the release before, which counts until its session is over).
    """
    started = asyncio.ensure_future(app.start())
    ends = [asyncio.ensure_future(end()) for end in (stopping.wait, app._crashed.wait, app.refusal.wait)]
    try:
        await asyncio.wait({started, *ends}, return_when=asyncio.FIRST_COMPLETED)
        if started.done():
            started.result()
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    finally:
        refused = None if stopping.is_set() else app.refusal.reason
        for waiter in ends:
            waiter.cancel()
        await stopped(app, stop_s)
        started.cancel()
    if refused is not None:
        log.critical("worker.refused_by_group reason=%r", refused)
        return EX_TEMPFAIL
    if app.crash_reason is not None:
        log.critical("worker.crashed", exc_info=app.crash_reason)
        return EX_FAILED
    log.info("worker.stopped")
    return 0


def trust_tables(app: App) -> None:
    """Before the app starts: go on with the tables on its disk only if the process before this one ended well."""
    trust.begin(app.conf.datadir, app.conf.tabledir, time.time())


def mark_tables(app: App) -> None:
    """After the app has stopped: the next process may go on with its tables, if their changelogs have every row."""
    store.close(app.tables.values())
    if app.unsettled:
        log.warning("tables.unsettled count=%d: the next start restores them", app.unsettled)
    else:
        trust.end(app.conf.datadir)


async def stopped(app: App, within_s: float = STOP_S) -> None:
    """Finish what is under way and commit; where that cannot be done any more, leave it to the next process."""
    try:
        await asyncio.wait_for(app.stop(), within_s)
    except TimeoutError:
        leave("worker.unstoppable")


async def _prepared(settings: Settings, instance: int, prepare: Prepare, watched: health.Health) -> App:
    watched.waiting_for = "kafka"
    await waiting.for_kafka(settings)
    return await prepare(settings, instance, watched)


async def _unless(stopping: asyncio.Event, preparing: Awaitable[App]) -> App | None:
    """The app, or None when the stop came first."""
    work, ended = asyncio.ensure_future(preparing), asyncio.ensure_future(stopping.wait())
    await asyncio.wait({work, ended}, return_when=asyncio.FIRST_COMPLETED)
    ended.cancel()
    if work.done():
        return work.result()
    work.cancel()
    return None


async def _close(probes: web.AppRunner) -> None:
    await probes.cleanup()


class _Lock:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)


def _lock(directory: Path) -> _Lock | None:
    """Two processes on one data directory corrupt each other; None when somebody has it."""
    directory.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return _Lock(descriptor)
