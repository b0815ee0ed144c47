"""The simulator as a process: all servers up, until it is told to stop."""

import asyncio
import signal
import socket
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from aiohttp import web

from notify_streams.providers.simulator import apns, fcm, hooks, sendgrid, ses, twilio, webpush
from notify_streams.providers.simulator.credentials import Credentials
from notify_streams.providers.simulator.http import application
from notify_streams.providers.simulator.kit import Callbacks, Kit
from notify_streams.providers.simulator.log import Log
from notify_streams.providers.simulator.script import Script
from notify_streams.providers.simulator.smtp import Listener

T = TypeVar("T")


class PortTaken(RuntimeError):
    """Somebody else listens there; the message says what to do."""


class Ports(msgspec.Struct, frozen=True):
    """Where to listen; 0 takes a free port."""

    host: str = "127.0.0.1"
    smtp: int = 0
    http: int = 0
    apns: int = 0


class Running(msgspec.Struct):
    """A simulator that answers, on the ports it really got. `settings` are the sections with which it is used."""

    script: Script
    log: Log
    smtp: Listener
    callbacks: Callbacks
    host: str
    smtp_port: int
    http_port: int
    apns_port: int
    settings: dict[str, dict[str, Any]]
    application_server_key: str
    stack: AsyncExitStack

    async def close(self) -> None:
        """No more messages, and no more words on them."""
        await self.stack.aclose()


async def start(
    ports: Ports,
    *,
    log: Path,
    credentials: Path,
    receipts_to: str = "",
    hook_secrets: Callable[[], Iterable[str]] = tuple,
) -> Running:
    """All servers. Raises PortTaken.

    `receipts_to` is the gateway's base address; without one nothing is said of mails once they are taken. Webhooks are
    taken that are signed with the installation's key or one of `hook_secrets`.
    """
    stack = AsyncExitStack()
    try:
        return await _started(stack, ports, log, credentials, receipts_to, hook_secrets)
    except BaseException:
        await stack.aclose()
        raise


async def _started(
    stack: AsyncExitStack,
    ports: Ports,
    log_path: Path,
    folder: Path,
    receipts_to: str,
    hook_secrets: Callable[[], Iterable[str]],
) -> Running:
    script, log = Script(), Log(log_path)
    stack.callback(log.close)
    kit, callbacks = Kit(script, log), Callbacks(script, receipts_to)
    stack.push_async_callback(callbacks.close)
    smtp, http = Listener(script, log), await _listening(ports, "http", _bound)
    stack.callback(http.close)
    url = f"http://{ports.host}:{_port(http)}"
    known = Credentials(folder, url)
    await _listening(ports, "smtp", smtp.start)
    stack.push_async_callback(smtp.close)
    push = await _listening(ports, "apns", partial(apns.start, kit, known.apns(), str(known.server)))
    stack.push_async_callback(push.stop)
    app, subscription = application(script, log, smtp, callbacks), ses.Subscription(known.ses())
    app.add_routes(_routes(kit, known, callbacks, subscription, hook_secrets))
    await _serving(stack, app, http)
    if receipts_to:
        confirming = asyncio.ensure_future(callbacks.confirm("ses", subscription.confirmation(url, kit.clock())))
        stack.callback(confirming.cancel)
    return Running(
        script,
        log,
        smtp,
        callbacks,
        ports.host,
        smtp.port,
        _port(http),
        push.port,
        known.settings(smtp=f"smtp://{ports.host}:{smtp.port}", apns=f"https://{ports.host}:{push.port}"),
        known.application_server_key(),
        stack,
    )


def _routes(
    kit: Kit,
    known: Credentials,
    callbacks: Callbacks,
    subscription: ses.Subscription,
    hook_secrets: Callable[[], Iterable[str]],
) -> list[web.RouteDef]:
    """Of every protocol over HTTP/1.1."""
    browsers, own = known.words.browsers.encode(), known.words.signing_key
    return [
        *fcm.routes(kit, known.fcm()),
        *webpush.routes(kit, browsers, application_server_key=known.application_server_key()),
        *ses.routes(kit, known.ses(), subscription, callbacks),
        *sendgrid.routes(kit, known.sendgrid(), callbacks),
        *twilio.routes(kit, known.twilio(), callbacks.post),
        *hooks.routes(kit, lambda: (own, *hook_secrets())),
    ]


async def _serving(stack: AsyncExitStack, app: web.Application, listening: socket.socket) -> None:
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    await web.SockSite(runner, listening, backlog=512).start()


async def serve(
    ports: Ports,
    ready: Callable[[Running], None],
    *,
    log: Path,
    credentials: Path,
    receipts_to: str = "",
    hook_secrets: Callable[[], Iterable[str]] = tuple,
) -> None:
    """Until SIGTERM or SIGINT."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    running = await start(ports, log=log, credentials=credentials, receipts_to=receipts_to, hook_secrets=hook_secrets)
    ready(running)
    await stop.wait()
    await running.close()


async def _listening(ports: Ports, name: str, start: Callable[[str, int], Awaitable[T]]) -> T:
    port: int = getattr(ports, name)
    try:
        return await start(ports.host, port)
    except OSError as error:
        raise PortTaken(_taken(ports.host, port, f"--{name}-port", error)) from error


async def _bound(host: str, port: int) -> socket.socket:
    return socket.create_server((host, port), backlog=512)


def _port(listening: socket.socket) -> int:
    port: int = listening.getsockname()[1]
    return port


def _taken(host: str, port: int, option: str, error: OSError) -> str:
    return f"cannot listen on {host}:{port} ({error.strerror}); stop what listens there, or choose another {option}"
