"""Amazon on the simulator's HTTP port, below /ses: SendEmail, and the topic of SNS that its events go to.

The adapter's base address is `URL/ses`. Signatures of requests are checked; events are signed with the topic's key, and
its certificate is at /ses/sns.pem. A subscription is confirmed at /ses/confirm.
"""

import secrets
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import orjson
from aiohttp import web

from notify_streams.providers.simulator import ses_events
from notify_streams.providers.simulator.asking import Kit, Told, event_of
from notify_streams.providers.simulator.later import Later, Post
from notify_streams.providers.simulator.mail_requests import Invalid, Sending, send_email
from notify_streams.providers.simulator.over_http import broken_off
from notify_streams.providers.simulator.sigv4 import why_refused

PROVIDER = "ses"
CERTIFICATE, CONFIRM = "/ses/sns.pem", "/ses/confirm"
_SEND = "/ses/v2/email/outbound-emails"
# What SES says where only a status was told.
_BY_STATUS: Mapping[int, str] = {
    400: "MessageRejected",
    403: "AccessDeniedException",
    404: "NotFoundException",
    413: "RequestEntityTooLargeException",
    429: "TooManyRequestsException",
    500: "InternalFailure",
    503: "ServiceUnavailable",
}


class Account(msgspec.Struct, frozen=True):
    """Access keys by id, the topic, and the certificate (PEM) that goes with its key."""

    secrets: dict[str, str]
    topic: ses_events.Topic
    certificate: bytes


class Subscription:
    """One subscriber of the topic: nothing but the confirmation may be posted before it has answered."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._token = secrets.token_hex(32)
        self.confirmed = False

    def confirmation(self, url: str, at: float) -> Post:
        """Comes first. `url` is the simulator's own address, `at` in seconds."""
        where = f"{url}{CONFIRM}?Token={self._token}"
        topic, message_id = self._account.topic, str(uuid.uuid4())
        return _post(
            ses_events.confirmation(topic, message_id=message_id, token=self._token, subscribe_url=where, at=at)
        )

    def confirm(self, token: str) -> bool:
        """Whether it was ours."""
        self.confirmed = self.confirmed or secrets.compare_digest(token.encode(), self._token.encode())
        return self.confirmed


def routes(kit: Kit, account: Account, subscription: Subscription, later: Later) -> list[web.RouteDef]:
    """SendEmail, the certificate, the confirmation."""

    async def send(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        refused = why_refused(request.method, request.path, headers, body, secrets=account.secrets, now=kit.clock())
        if refused is not None:
            return _error(403, refused, "The request is not signed by a key of this account")
        try:
            sending = send_email(body)
        except Invalid as invalid:
            return _error(400, "BadRequestException", str(invalid))
        return await _decided(kit, request, sending, account, later)

    async def certificate(request: web.Request) -> web.StreamResponse:
        return web.Response(body=account.certificate, content_type="application/x-pem-file")

    async def confirm(request: web.Request) -> web.StreamResponse:
        if subscription.confirm(request.query.get("Token", "")):
            return web.Response(text="<ConfirmSubscriptionResponse/>", content_type="text/xml")
        return web.Response(status=403, text="<ErrorResponse/>", content_type="text/xml")

    return [web.post(_SEND, send), web.get(CERTIFICATE, certificate), web.get(CONFIRM, confirm)]


async def _decided(
    kit: Kit, request: web.Request, sending: Sending, account: Account, later: Later
) -> web.StreamResponse:
    told, message_id = kit.script.next(PROVIDER, sending.to), f"{uuid.uuid4()}-000000"
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
    return _json(200, {"MessageId": message_id})


def _posts(kit: Kit, sending: Sending, message_id: str, account: Account) -> Callable[[str], Post]:
    mail = ses_events.Mail(message_id, sending.source, sending.to, sending.subject, sending.tags, kit.clock())

    def post(word: str) -> Post:
        at = kit.clock()
        record = ses_events.event(ses_events.WORDS[word], mail, event_id=str(uuid.uuid4()), at=at)
        return _post(ses_events.notification(record, account.topic, message_id=str(uuid.uuid4()), at=at))

    return post


def _post(message: dict[str, str]) -> Post:
    return Post(orjson.dumps(message), ses_events.headers(message))


def _in_words(told: Told | None, message_id: str) -> str:
    if told is None or told.kind == "accept":
        return f"200 {message_id}"
    return f"{told.status} {_BY_STATUS.get(told.status, '')}".rstrip() if told.kind == "refuse" else told.kind


def _refusal(told: Told) -> web.Response:
    if told.body:
        return web.Response(
            status=told.status, text=told.body, content_type="application/json", headers=dict(told.headers)
        )
    return _error(told.status, _BY_STATUS.get(told.status, ""), "As told by the script", told.headers)


def _error(status: int, name: str, words: str, headers: Mapping[str, str] = {}) -> web.Response:
    named = {"x-amzn-ErrorType": name} if name else {}
    return _json(status, {"message": words}, {**headers, **named})


def _json(status: int, answer: Any, headers: Mapping[str, str] = {}) -> web.Response:
    return web.Response(
        status=status, body=orjson.dumps(answer), content_type="application/json", headers=dict(headers)
    )
