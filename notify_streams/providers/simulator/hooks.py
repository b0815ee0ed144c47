"""A server that takes webhooks on the simulator's HTTP port, below /hooks, and checks their signatures.

Standard Webhooks 1.0.0, "Verifying webhook authenticity": the time is at most five minutes off, one of the signatures
is the secret's over id.time.body.
"""

import base64
import binascii
import hmac
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256

import orjson
from aiohttp import web

from notify_streams.providers.simulator.asking import Kit, Told, event_of, kept
from notify_streams.providers.simulator.over_http import broken_off

PROVIDER = "webhook"
UNSIGNED = "401 not signed"
_HEADERS = ("webhook-id", "webhook-timestamp", "webhook-signature", "Content-Type", "User-Agent")
_TOLERANCE_S = 300


def routes(kit: Kit, secrets: Callable[[], Iterable[str]]) -> list[web.RouteDef]:
    """`secrets` (whsec_...) are those of the installation and of its producers' keys."""

    async def take(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        to, shown = str(request.rel_url), kept(request.headers, *_HEADERS)
        if not is_signed(request.headers, body, secrets(), kit.clock()):
            kit.log.add(provider=PROVIDER, event="refused", to=to, answer=UNSIGNED, content=body, headers=shown)
            return web.Response(status=401)
        told = kit.script.next(PROVIDER, to)
        status = _status(told)
        kit.log.add(
            provider=PROVIDER,
            event=event_of(told),
            to=to,
            answer=f"{status} {_type(body)}".rstrip() if status else _kind(told),
            delivery_id=request.headers["webhook-id"],
            identity=request.headers["webhook-id"],
            content=body,
            headers=shown,
        )
        headers = {} if told is None else told.headers
        return await broken_off(request, told) or web.Response(status=status, headers=headers)

    return [web.post("/hooks/{name:.*}", take)]


def is_signed(headers: Mapping[str, str], body: bytes, secrets: Iterable[str], now: float) -> bool:
    """Whether one of the signatures is one of the secrets'. `now` in seconds."""
    id_, at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not id_ or not at.isdigit() or abs(int(at) - now) > _TOLERANCE_S:
        return False
    signed = f"{id_}.{at}.".encode() + body
    given = [one[3:].encode() for one in headers.get("webhook-signature", "").split(" ") if one.startswith("v1,")]
    return any(hmac.compare_digest(_signature(secret, signed), one) for secret in secrets for one in given)


def _signature(secret: str, signed: bytes) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        return b""
    return base64.b64encode(hmac.new(key, signed, sha256).digest())


def _status(told: Told | None) -> int:
    if told is None or told.kind == "accept":
        return 204
    return told.status if told.kind == "refuse" else 0


def _kind(told: Told | None) -> str:
    return "" if told is None else told.kind


def _type(body: bytes) -> str:
    try:
        said = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    return str(said.get("type", "")) if isinstance(said, dict) else ""
