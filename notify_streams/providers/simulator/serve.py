"""The simulator as a process: both servers up, until it is told to stop."""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

import msgspec
from aiohttp import web

from notify_streams.providers.simulator.http import application
from notify_streams.providers.simulator.log import Log
from notify_streams.providers.simulator.script import Script
from notify_streams.providers.simulator.smtp import Listener


class PortTaken(RuntimeError):
    """Somebody else listens there; the message says what to do."""


class Running(msgspec.Struct):
    """A simulator that answers, on the ports it really got."""

    script: Script
    log: Log
    smtp: Listener
    site: web.AppRunner
    host: str
    smtp_port: int
    http_port: int

    async def close(self) -> None:
        """No more mails."""
        await self.smtp.close()
        await self.site.cleanup()
        self.log.close()


async def start(host: str, smtp_port: int, http_port: int, log_path: Path) -> Running:
    """Both servers; port 0 takes a free one. Raises PortTaken."""
    script, log = Script(), Log(log_path)
    smtp = Listener(script, log)
    try:
        await smtp.start(host, smtp_port)
    except OSError as error:
        log.close()
        raise PortTaken(_taken(host, smtp_port, "--smtp-port", error)) from error
    runner = web.AppRunner(application(script, log, smtp), access_log=None, handle_signals=False)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, http_port).start()
    except OSError as error:
        await smtp.close()
        await runner.cleanup()
        log.close()
        raise PortTaken(_taken(host, http_port, "--http-port", error)) from error
    return Running(script, log, smtp, runner, host, smtp.port, runner.addresses[0][1])


async def serve(host: str, smtp_port: int, http_port: int, log_path: Path, ready: Callable[[Running], None]) -> None:
    """Until SIGTERM or SIGINT."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    running = await start(host, smtp_port, http_port, log_path)
    ready(running)
    await stop.wait()
    await running.close()


def _taken(host: str, port: int, option: str, error: OSError) -> str:
    return f"cannot listen on {host}:{port} ({error.strerror}); stop what listens there, or choose another {option}"
