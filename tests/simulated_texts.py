"""The simulator as Twilio and as a server for webhooks, listening, with a log and a script to look into."""

import contextlib
import socket
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from aiohttp import web

from notify_streams.providers.simulator import hooks, twilio
from notify_streams.providers.simulator.twilio_messages import Account
from notify_streams.providers.webhook.signing import new_secret
from tests.simulated import Kit

ACCOUNT = Account("AC" + "1" * 32, "the-auth-token")
SECRET = new_secret()
TO = "+447400123456"
Posted = tuple[str, bytes, Mapping[str, str], float]


@dataclass
class Simulated:
    """Where it listens; `posted` are the callbacks that it made."""

    kit: Kit
    url: str = ""
    posted: list[Posted] = field(default_factory=list)


@contextlib.asynccontextmanager
async def simulated() -> AsyncIterator[Simulated]:
    made = Simulated(Kit())
    app = web.Application()
    app.add_routes(twilio.routes(made.kit, ACCOUNT, lambda *posted: made.posted.append(posted)))
    app.add_routes(hooks.routes(made.kit, lambda: [new_secret(), SECRET]))
    runner = web.AppRunner(app, access_log=None)
    listening = socket.create_server(("127.0.0.1", 0))
    made.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    await runner.setup()
    await web.SockSite(runner, listening).start()
    try:
        yield made
    finally:
        await runner.cleanup()


def now_ms() -> int:
    return round(datetime.now(UTC).timestamp() * 1000)
