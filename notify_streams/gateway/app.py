"""The gateway put together, and its life from the first request to the last."""

import asyncio
import logging
import re
import signal
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import msgspec
from aiohttp import web

from notify_streams.domain.accept import Limits
from notify_streams.gateway import openapi
from notify_streams.gateway.asking import Asking
from notify_streams.gateway.auth import Auth, auth_of
from notify_streams.gateway.cancels import Cancels
from notify_streams.gateway.commands import Commands
from notify_streams.gateway.console.doors import Doors
from notify_streams.gateway.console.routes import Console, Desk
from notify_streams.gateway.counting import Counting
from notify_streams.gateway.endpoints import EndpointsApi
from notify_streams.gateway.events import Events
from notify_streams.gateway.events_batch import EventsBatch
from notify_streams.gateway.failures import Failures
from notify_streams.gateway.health import Health
from notify_streams.gateway.inbox import Inbox
from notify_streams.gateway.inbox_cache import InboxCache
from notify_streams.gateway.inbox_commands import InboxCommands
from notify_streams.gateway.known import RedisShared
from notify_streams.gateway.ledger import Ledger, RedisLedger
from notify_streams.gateway.live.live import Live
from notify_streams.gateway.notifications import Notifications, Told
from notify_streams.gateway.pipelined import Pipelined
from notify_streams.gateway.preferences import PreferencesApi
from notify_streams.gateway.preview import Preview
from notify_streams.gateway.problems import problems
from notify_streams.gateway.profiles import Profiles
from notify_streams.gateway.publisher import BatchPublisher, KafkaPublisher
from notify_streams.gateway.rates import Rates
from notify_streams.gateway.receipts.fetching import HttpSns, Sns
from notify_streams.gateway.receipts.readers import readers_of
from notify_streams.gateway.receipts.route import Receipts
from notify_streams.gateway.receipts.seen import Seen
from notify_streams.gateway.receipts.taking import Nobody, Settling, Taking
from notify_streams.gateway.results import KafkaResults, Results
from notify_streams.gateway.routes import Route
from notify_streams.gateway.spelling import Spelling, spelling_of
from notify_streams.gateway.suppressions import Suppressions
from notify_streams.gateway.unsubscribe.route import Unsubscribing
from notify_streams.gateway.verifying import Verifying
from notify_streams.gateway.web.assets import Assets
from notify_streams.ports import InboxStore, Records, Renderer
from notify_streams.settings import Settings, seconds
from notify_streams.signing import signing_secrets
from notify_streams.stores.inbox_keys import InboxKeys
from notify_streams.stores.redis import Expendable
from schemas.catalogue import Catalogue

log = logging.getLogger(__name__)
_SHUTDOWN_S = 10.0
_BACKLOG = 4096  # when another gateway goes, all of its clients come at once
_PLACE = re.compile(r"\{(\w+)\}")  # aiohttp's own places take no braces, and a user id may have some


def _wall_clock() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the routes stand on. `clock` in ms."""

    auth: Auth
    catalogue: Catalogue
    publisher: BatchPublisher
    results: Results
    ledger: Ledger
    profiles: Profiles
    records: Records
    inbox: InboxStore
    cache: InboxCache
    status: Told
    explain: Told
    counting: Counting
    sns: Sns
    seen: Seen
    settling: Settling
    renderer: Renderer
    live: Live | None = None
    desk: Desk | None = None
    clock: Callable[[], int] = _wall_clock


def build(
    settings: Settings,
    *,
    catalogue: Catalogue,
    records: Records,
    inbox: InboxStore,
    redis: Expendable,
    status: Told,
    explain: Told,
    renderer: Renderer,
    settling: Settling | None = None,
    desk: Desk | None = None,
) -> web.Application:
    """The application on Kafka and Redis; it connects when it starts up. Raises SettingsError.

    `settling` are the senders' delivery keys, which receipts settle; with a `desk` there is a console.
    """
    auth, sns = auth_of(settings), HttpSns()
    pipelined = Pipelined(redis)
    publisher = KafkaPublisher(settings)
    profiles = Profiles(records, RedisShared(pipelined, settings.kafka), lambda: results.listening)
    results = KafkaResults(settings.kafka, profiles.heard)
    cache = InboxCache(pipelined, InboxKeys.of(settings.kafka))
    parts = Parts(
        auth=auth,
        catalogue=catalogue,
        publisher=publisher,
        results=results,
        ledger=RedisLedger(pipelined, settings),
        profiles=profiles,
        records=records,
        inbox=inbox,
        cache=cache,
        status=status,
        explain=explain,
        counting=Counting(pipelined, settings.kafka),
        sns=sns,
        seen=Seen(pipelined, settings.kafka),
        settling=settling or Nobody(),
        renderer=renderer,
        live=Live(settings, auth=auth, redis=pipelined, cache=cache, store=inbox, publisher=publisher),
        desk=desk,
    )

    async def connected(_app: web.Application) -> AsyncIterator[None]:
        publisher.start()
        results.start()
        yield
        await results.close()
        await publisher.close()
        await sns.close()
        if desk is not None:
            await desk.watching.close()

    app = application(settings, parts)
    app.cleanup_ctx.append(connected)
    return app


def application(settings: Settings, parts: Parts) -> web.Application:
    """The routes over any parts."""
    limits = msgspec.convert(msgspec.to_builtins(settings.limits), Limits)
    asking = Asking(parts.publisher, parts.results, seconds(settings.gateway.command_timeout))
    commands = Commands(parts.catalogue, asking, parts.profiles)
    rates, spelling, secrets = Rates(), spelling_of(settings), signing_secrets(settings)
    taking = Taking(parts.publisher, parts.seen, parts.settling, secrets)
    routes = (
        *Events(parts.auth, parts.catalogue, limits, parts.publisher, parts.ledger, rates).routes(),
        *EventsBatch(
            parts.auth, parts.catalogue, limits, parts.publisher, parts.ledger, rates, settings.limits.batch_bytes
        ).routes(),
        *Preview(parts.auth, parts.catalogue, limits, parts.profiles, parts.renderer, parts.clock).routes(),
        *Notifications(parts.auth, parts.records, parts.ledger, parts.status, parts.explain).routes(),
        *Failures(parts.auth, parts.records, parts.clock).routes(),
        *Cancels(parts.auth, parts.records, parts.ledger, parts.publisher, rates).routes(),
        *Inbox(parts.auth, parts.inbox, parts.cache).routes(),
        *InboxCommands(parts.auth, asking, Rates(), settings.limits.inbox_commands, parts.clock).routes(),
        *PreferencesApi(parts.auth, parts.catalogue, parts.profiles, commands).routes(),
        *EndpointsApi(parts.auth, parts.profiles, commands, spelling).routes(),
        *Verifying(parts.auth, parts.catalogue, parts.profiles, commands, parts.counting, secrets).routes(),
        *Suppressions(parts.auth, commands, spelling).routes(),
        *Receipts(readers_of(settings, parts.sns), taking, settings.gateway.public_url, parts.clock).routes(),
        *Unsubscribing(parts.catalogue, parts.profiles, commands, secrets, parts.clock).routes(),
        *Assets().routes(),
        *(parts.live.routes() if parts.live else ()),
        *_console(settings, parts, commands, spelling, secrets),
        *Health(parts.auth, parts.publisher, parts.records, parts.results).routes(),
    )
    app = web.Application(middlewares=[problems], client_max_size=limits.event_bytes)
    for route in (*routes, openapi.described(routes)):
        path = _PLACE.sub(r"{\1:[^/]+}", route.path)
        app.router.add_route(route.method, path, route.handler)
        if route.method == "GET":
            app.router.add_route("HEAD", path, route.handler)
    if parts.live:
        app.cleanup_ctx.append(parts.live.run)
        app.on_shutdown.append(parts.live.drain)
    return app


def _console(
    settings: Settings, parts: Parts, commands: Commands, spelling: Spelling, secrets: Sequence[str]
) -> tuple[Route, ...]:
    if parts.desk is None:
        return ()
    secure = settings.gateway.public_url.startswith("https:")
    return Console(
        settings=settings,
        catalogue=parts.catalogue,
        doors=Doors(parts.auth, secrets, secure),
        desk=parts.desk,
        records=parts.records,
        inbox=parts.inbox,
        profiles=parts.profiles,
        commands=commands,
        spelling=spelling,
        explain=parts.explain,
        failures=Failures(parts.auth, parts.records, parts.clock),
        clock=parts.clock,
    ).routes()


async def serve(app: web.Application, settings: Settings, *, stop: asyncio.Event | None = None) -> None:
    """Serve until SIGTERM, SIGINT or `stop`; then take nothing new, finish what is under way, flush."""
    stop = stop or asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, stop.set)
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=_SHUTDOWN_S)
    await runner.setup()
    try:
        place = settings.gateway
        site = web.TCPSite(runner, place.host, place.port, backlog=_BACKLOG, reuse_port=place.reuse_port or None)
        await site.start()
        log.info("gateway.serves host=%s port=%d", settings.gateway.host, settings.gateway.port)
        await stop.wait()
    finally:
        await runner.cleanup()
        log.info("gateway.stopped")
