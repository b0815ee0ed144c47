"""A local Google: a token endpoint and FCM's `messages:send`, each answering as it is told."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from notify_streams.providers.fcm.adapter import FcmProvider
from notify_streams.settings import Channel, Provider
from tests.push import service_account


@dataclass
class Google:
    """`tokens` and `sends` are answers in turn (status, JSON), the last one for ever; a status of 0 closes."""

    tokens: list[tuple[int, Any]] = field(default_factory=list)
    sends: list[tuple[int, Any]] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    assertions: list[dict[str, str]] = field(default_factory=list)
    bearers: list[str] = field(default_factory=list)
    messages: list[Any] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    token_takes_s: float = 0.0
    port: int = 0

    async def token(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        self.assertions.append({name: str(value) for name, value in form.items()})
        await asyncio.sleep(self.token_takes_s)
        issued = (200, {"access_token": f"ya29.{len(self.assertions)}", "expires_in": 3599, "token_type": "Bearer"})
        return self._answer(request, self.tokens, issued)

    async def send(self, request: web.Request) -> web.StreamResponse:
        self.paths.append(request.path)
        self.bearers.append(request.headers["Authorization"])
        self.bodies.append(await request.read())
        self.messages.append((await request.json())["message"])
        return self._answer(request, self.sends, (200, {"name": f"projects/shop-1/messages/{len(self.messages)}"}))

    def _answer(self, request: web.Request, told: list[tuple[int, Any]], usual: tuple[int, Any]) -> web.StreamResponse:
        status, body = (told.pop(0) if len(told) > 1 else told[0]) if told else usual
        if status == 0:
            assert request.transport is not None
            request.transport.abort()
        return web.json_response(body, status=status or 500, headers=self.headers)


@contextlib.asynccontextmanager
async def google(**told: Any) -> AsyncIterator[Google]:
    server = Google(**told)
    app = web.Application()
    app.add_routes([web.post("/token", server.token), web.post("/v1/{rest:.*}", server.send)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.port = runner.addresses[0][1]
    try:
        yield server
    finally:
        await runner.cleanup()


@contextlib.asynccontextmanager
async def fcm_at(server: Google, folder: Path, *, timeout: str = "2s") -> AsyncIterator[FcmProvider]:
    url = f"http://127.0.0.1:{server.port}"
    settings = Provider(url=url, credentials_file=service_account(folder, f"{url}/token"))
    provider = FcmProvider.of(settings, Channel(attempt_timeout=timeout))
    try:
        yield provider
    finally:
        await provider.close()


def fcm_error(status: int, general: str, *details: dict[str, Any]) -> tuple[int, Any]:
    error = {"code": status, "message": "for token t0k3n-of-ann", "status": general, "details": list(details)}
    return status, {"error": error}


def fcm_code(code: str) -> dict[str, Any]:
    return {"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": code}


BAD_FIELD = {
    "@type": "type.googleapis.com/google.rpc.BadRequest",
    "fieldViolations": [{"field": "message.data[0].value", "description": "Invalid value"}],
}


def quota(subject: str) -> dict[str, Any]:
    return {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"subject": subject}]}
