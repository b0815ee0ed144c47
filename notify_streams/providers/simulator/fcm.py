"""Google on the simulator's HTTP port, below /fcm: the token endpoint and `messages:send`."""

import uuid
from collections.abc import Mapping
from typing import Any

import orjson
from aiohttp import web

from notify_streams.providers.simulator import google
from notify_streams.providers.simulator.asking import Kit, Told, event_of
from notify_streams.providers.simulator.over_http import broken_off

PROVIDER = "fcm"


def routes(kit: Kit, account: google.Account) -> list[web.RouteDef]:
    """`token_uri` of the account leads to /fcm/token."""
    tokens = google.Tokens(account)

    async def token(request: web.Request) -> web.StreamResponse:
        form = {name: value for name, value in (await request.post()).items() if isinstance(value, str)}
        status, answer = tokens.exchange(form, kit.clock())
        return _json(status, answer)

    async def send(request: web.Request) -> web.StreamResponse:
        if not tokens.holds(request.headers.get("Authorization", ""), kit.clock()):
            return _json(401, google.error(401, "UNAUTHENTICATED", "Request had invalid authentication credentials"))
        if request.match_info["project"] != account.project_id:
            return _json(403, google.error(403, "PERMISSION_DENIED", "Permission denied on the project"))
        return await _taken(kit, request, account.project_id)

    return [
        web.post("/fcm/token", token),
        web.post("/fcm/v1/projects/{project}/messages:send", send),
    ]


async def _taken(kit: Kit, request: web.Request, project: str) -> web.StreamResponse:
    body = await request.read()
    try:
        message = google.message_of(body)
    except google.Invalid as invalid:
        return _json(400, google.wrong_field(invalid))
    to = message["token"]
    told = kit.script.next(PROVIDER, to)
    status, answer, headers = _answer(told, project)
    data = message.get("data") or {}
    kit.log.add(
        provider=PROVIDER,
        event=event_of(told),
        to=to,
        answer=_in_words(told, status, answer),
        delivery_id=data.get("delivery_id", ""),
        identity=google.identity_of(message),
        content=body,
    )
    return await broken_off(request, told) or _json(status, answer, headers)


def _answer(told: Told | None, project: str) -> tuple[int, Any, Mapping[str, str]]:
    if told is None or told.kind == "accept":
        return 200, {"name": f"projects/{project}/messages/{uuid.uuid4()}"}, {}
    if told.kind != "refuse":
        return 0, {}, {}
    return told.status, orjson.loads(told.body) if told.body else google.told(told.status), told.headers


def _in_words(told: Told | None, status: int, answer: Any) -> str:
    if told is None or told.kind in ("accept", "refuse"):
        return f"{status} {google.code_of(answer)}".rstrip()
    return told.kind


def _json(status: int, answer: Any, headers: Mapping[str, str] = {}) -> web.Response:
    return web.json_response(answer, status=status, headers=headers, dumps=lambda value: orjson.dumps(value).decode())
