"""A push service on the simulator's HTTP port, below /webpush, and browsers that subscribe to it.

`POST /webpush/subscribe {"name": ...}` answers what a browser would hand to the application; the name is whom scripts
and the log speak of.
"""

import uuid

import msgspec
from aiohttp import web

from notify_streams.providers.simulator.asking import Kit, event_of, kept
from notify_streams.providers.simulator.browsers import Browser, Refused, Senders, check_headers
from notify_streams.providers.simulator.over_http import broken_off

PROVIDER = "webpush"


class _Named(msgspec.Struct):
    name: str = ""


def routes(kit: Kit, secret: bytes, *, application_server_key: str = "") -> list[web.RouteDef]:
    """`secret` makes the browsers' keys; the application server is the one with that key, or anybody (RFC 8292, 4)."""
    senders = Senders(application_server_key)

    async def subscribe(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        try:
            name = msgspec.json.decode(body, type=_Named).name if body else ""
        except msgspec.DecodeError:
            raise web.HTTPBadRequest(text='{"name": text} is what is read here') from None
        name = name or str(uuid.uuid4())
        endpoint = request.url.origin() / "webpush" / "push" / name
        return web.json_response(Browser.named(secret, name).subscription(str(endpoint)))

    async def push(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        name = request.match_info["name"]
        try:
            senders.check(request.headers.get("Authorization", ""), str(request.url.origin()), kit.clock())
            check_headers(request.headers, len(body))
            content = Browser.named(secret, name).decrypted(body)
        except Refused as refused:
            return web.Response(status=refused.status, text=str(refused))
        return await _taken(kit, request, name, content)

    return [web.post("/webpush/subscribe", subscribe), web.post("/webpush/push/{name}", push)]


async def _taken(kit: Kit, request: web.Request, name: str, content: bytes) -> web.StreamResponse:
    told = kit.script.next(PROVIDER, name)
    refuses = told is not None and told.kind == "refuse"
    status = told.status if told is not None and refuses else 201
    kit.log.add(
        provider=PROVIDER,
        event=event_of(told),
        to=name,
        answer=str(status) if told is None or told.kind in ("accept", "refuse") else told.kind,
        delivery_id=_delivery_id(content),
        identity=request.headers.get("Topic", ""),
        content=content,
        headers=kept(request.headers, "TTL", "Urgency", "Topic", "Content-Encoding"),
    )
    broken = await broken_off(request, told)
    if broken is not None:
        return broken
    if told is not None and refuses:
        return web.Response(status=status, text=told.body, headers=told.headers)
    where = request.url.origin() / "webpush" / "message" / str(uuid.uuid4())
    return web.Response(status=status, headers={"Location": str(where), "TTL": request.headers["TTL"]})


class _Ours(msgspec.Struct):
    id: str = ""


def _delivery_id(content: bytes) -> str:
    try:
        return msgspec.json.decode(content, type=_Ours).id
    except msgspec.DecodeError:
        return ""
