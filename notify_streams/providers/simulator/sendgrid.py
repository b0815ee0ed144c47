"""SendGrid on the simulator's HTTP port, below /sendgrid: mail/send, and the events that follow.

The adapter's base address is `URL/sendgrid`. The bearer is checked; events are signed with the account's key.
"""

import secrets
from collections.abc import Callable, Mapping

import msgspec
import orjson
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

from notify_streams.providers.simulator import sendgrid_events
from notify_streams.providers.simulator.asking import Kit, Told, event_of
from notify_streams.providers.simulator.later import Later, Post
from notify_streams.providers.simulator.mail_requests import Invalid, Sending, mail_send
from notify_streams.providers.simulator.over_http import broken_off

PROVIDER = "sendgrid"
_SEND = "/sendgrid/v3/mail/send"
# What SendGrid says where only a status was told.
_BY_STATUS: Mapping[int, str] = {
    400: "Bad Request",
    401: "The provided authorization grant is invalid, expired, or revoked",
    403: "The from address does not match a verified Sender Identity",
    413: "Payload too large",
    429: "too many requests",
    500: "Internal error",
    503: "Service unavailable",
}


class Account(msgspec.Struct, frozen=True):
    """Its API key, and the key that signs its events."""

    api_key: str
    events: EllipticCurvePrivateKey


def routes(kit: Kit, account: Account, later: Later) -> list[web.RouteDef]:
    """mail/send."""
    bearer = f"Bearer {account.api_key}".encode()

    async def send(request: web.Request) -> web.StreamResponse:
        if not secrets.compare_digest(request.headers.get("Authorization", "").encode(), bearer):
            return _error(401, _BY_STATUS[401])
        try:
            sending = mail_send(await request.read())
        except Invalid as invalid:
            return _error(400, str(invalid), invalid.field)
        return await _decided(kit, request, sending, account, later)

    return [web.post(_SEND, send)]


async def _decided(
    kit: Kit, request: web.Request, sending: Sending, account: Account, later: Later
) -> web.StreamResponse:
    told, message_id = kit.script.next(PROVIDER, sending.to), secrets.token_urlsafe(16)
    kit.log.add(
        provider=PROVIDER,
        event=event_of(told),
        to=sending.to,
        answer=_in_words(told, message_id),
        delivery_id=sending.delivery_id,
        identity=sending.delivery_id,
        content=sending.raw,
    )
    if told is None or told.kind != "refuse":  # taken, even where the answer is lost
        later.taken(PROVIDER, sending.to, _posts(kit, sending, message_id, account))
    broken = await broken_off(request, told)
    if broken is not None:
        return broken
    if told is not None and told.kind == "refuse":
        return _refusal(told)
    return web.Response(status=202, headers={"X-Message-Id": message_id})


def _posts(kit: Kit, sending: Sending, message_id: str, account: Account) -> Callable[[str], Post]:
    mail = sendgrid_events.Mail(message_id, sending.to, sending.tags)

    def post(word: str) -> Post:
        at = kit.clock()
        event = sendgrid_events.event(sendgrid_events.WORDS[word], mail, event_id=secrets.token_urlsafe(24), at=at)
        return Post(*sendgrid_events.post([event], account.events, at=at))

    return post


def _in_words(told: Told | None, message_id: str) -> str:
    if told is None or told.kind == "accept":
        return f"202 {message_id}"
    return str(told.status) if told.kind == "refuse" else told.kind


def _refusal(told: Told) -> web.Response:
    if told.body:
        return web.Response(
            status=told.status, text=told.body, content_type="application/json", headers=dict(told.headers)
        )
    return _error(told.status, _BY_STATUS.get(told.status, ""), headers=told.headers)


def _error(status: int, words: str, field: str = "", headers: Mapping[str, str] = {}) -> web.Response:
    body = orjson.dumps({"errors": [{"message": words, "field": field or None, "help": None}]})
    return web.Response(status=status, body=body, content_type="application/json", headers=dict(headers))
