"""Webhooks: signed, to the public internet only, and what the answers of strangers mean."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from notify_streams.domain.answers import Answer, EndpointGone, Refused, Sent, TryLater, Unknown
from notify_streams.domain.rendered import RenderedSms, RenderedWebhook
from notify_streams.ports import Message
from notify_streams.providers.webhook.adapter import WebhookProvider
from notify_streams.providers.webhook.signing import headers, key_of, new_secret
from notify_streams.settings import Channel, Provider, SettingsError
from tests.http_servers import CLOSE, HANG, RESET, raw_http
from tests.urls import INSIDE, UNFIT

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
DELIVERY = "0d9f1c62-3c0f-5c9e-9a43-000000000001"


def now_ms() -> int:
    return round(datetime.now(UTC).timestamp() * 1000)


def a_webhook(address: str, **changes: Any) -> Message:
    plain: dict[str, Any] = {"type": "order.confirmed", "accepted_at": 1_790_000_000_123, "locale": "en"}
    rendered = RenderedWebhook({"order": "123", "title": "Bestätigt"})
    return Message(delivery_id=DELIVERY, address=address, rendered=rendered, **plain | changes)


@contextlib.asynccontextmanager
async def a_provider(
    *, allow_private: bool = True, signing_key: str = SECRET, timeout: str = "2s"
) -> AsyncIterator[WebhookProvider]:
    settings = Provider(signing_key=signing_key, allow_private=allow_private)
    provider = WebhookProvider.of(settings, Channel(attempt_timeout=timeout, concurrency=4))
    try:
        yield provider
    finally:
        await provider.close()


def an_answer(status: int, headers: str = "") -> bytes:
    return f"HTTP/1.1 {status} X\r\n{headers}Content-Length: 0\r\n\r\n".encode()


def received(request: bytes) -> tuple[dict[str, str], bytes]:
    head, _, body = request.partition(b"\r\n\r\n")
    return dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:]), body


async def test_the_library_of_standard_webhooks_verifies_what_is_sent() -> None:
    async with raw_http(an_answer(204)) as server, a_provider() as provider:
        assert await provider.send(a_webhook(f"{server.url}/in?x=%2F"), now=now_ms()) == Sent()
        [request] = server.requests
    fields, body = received(request)
    assert request.startswith(b"POST /in?x=%2F HTTP/1.1\r\n")
    assert fields["webhook-id"] == DELIVERY
    assert fields["Content-Type"] == "application/json"
    assert Webhook(SECRET).verify(body, fields) == {
        "type": "order.confirmed",
        "timestamp": "2026-09-21T14:13:20.123Z",
        "data": {"order": "123", "title": "Bestätigt"},
    }
    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(body + b" ", fields)
    with pytest.raises(WebhookVerificationError):
        Webhook(new_secret()).verify(body, fields)


def test_a_signature_is_the_one_that_the_library_makes() -> None:
    at = datetime.fromtimestamp(1_614_265_330, UTC)
    made = headers((key_of(SECRET),), "msg_p5jXN8AQM9LWM0D4loKWxJek", b'{"test": 2432232314}', now=1_614_265_330_999)
    assert made["webhook-signature"] == Webhook(SECRET).sign("msg_p5jXN8AQM9LWM0D4loKWxJek", at, '{"test": 2432232314}')
    assert made["webhook-timestamp"] == "1614265330"


async def test_while_a_secret_is_changed_both_sign() -> None:
    other = new_secret()
    async with raw_http(an_answer(200)) as server, a_provider(signing_key=f"{other} {SECRET}") as provider:
        await provider.send(a_webhook(server.url), now=now_ms())
        fields, body = received(server.requests[0])
    for secret in (SECRET, other):
        assert json.loads(body) == Webhook(secret).verify(body, fields)


async def test_every_attempt_has_the_same_id_and_body_and_a_time_of_its_own() -> None:
    """IDM-03: the id is the receiver's idempotency key, so a lost answer is sent again."""
    async with raw_http(CLOSE, an_answer(200)) as server, a_provider() as provider:
        assert provider.repeatable
        assert isinstance(await provider.send(a_webhook(server.url), now=now_ms() - 60_000), Unknown)
        assert await provider.send(a_webhook(server.url), now=now_ms()) == Sent()
        (one, body), (two, again) = map(received, server.requests)
    assert (one["webhook-id"], body) == (two["webhook-id"], again)
    assert one["webhook-timestamp"] != two["webhook-timestamp"]


@pytest.mark.parametrize(
    ("answer", "meaning"),
    [
        (an_answer(200), Sent()),
        (an_answer(204), Sent()),
        (an_answer(400), Refused("400")),
        (an_answer(401), TryLater("401", about="endpoint")),
        (an_answer(403), TryLater("403", about="endpoint")),
        (an_answer(404), Refused("404")),
        (an_answer(408), TryLater("408", about="endpoint")),
        (an_answer(410), EndpointGone("410")),
        (an_answer(413), Refused("413")),
        (an_answer(422), Refused("422")),
        (an_answer(425), TryLater("425", about="endpoint")),
        (an_answer(429), TryLater("429", about="endpoint")),
        (an_answer(429, "Retry-After: 1.5\r\n"), TryLater("429", 2.0, about="endpoint")),
        (an_answer(500), TryLater("500", about="endpoint")),
        (an_answer(501), Refused("501")),
        (an_answer(503, "Retry-After: 120\r\n"), TryLater("503", 120.0, about="endpoint")),
        (an_answer(402), Refused("402")),
        (an_answer(407), Refused("407")),
    ],
)
async def test_an_answer_is_about_its_endpoint_and_nobody_else(answer: bytes, meaning: Answer) -> None:
    """RTY-04: 401 and 403 are of the receiver's own making; the messages of all others go on."""
    async with raw_http(answer) as server, a_provider() as provider:
        assert await provider.send(a_webhook(server.url), now=now_ms()) == meaning


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_followed_nowhere(status: int) -> None:
    """SEC-01: it could lead inside."""
    async with raw_http() as inside, raw_http(an_answer(status, f"Location: {inside.url}/x\r\n")) as server:
        async with a_provider() as provider:
            assert await provider.send(a_webhook(server.url), now=now_ms()) == Refused(str(status))
        assert inside.connections == 0


@pytest.mark.parametrize("lost", [CLOSE, RESET, HANG, b"HTTP/1.1 ", b"SSH-2.0-x\r\n"])
async def test_a_server_that_breaks_off_leaves_it_unknown(lost: bytes) -> None:
    async with raw_http(lost) as server, a_provider(timeout="300ms") as provider:
        assert isinstance(await provider.send(a_webhook(server.url), now=now_ms()), Unknown)


async def test_a_server_that_is_away_is_tried_again_and_says_nothing_of_the_others() -> None:
    async with raw_http() as server:
        url = server.url
    async with a_provider() as provider:
        answer = await provider.send(a_webhook(url), now=now_ms())
    assert answer == TryLater("ClientConnectorError ECONNREFUSED", about="endpoint")


@pytest.mark.parametrize("url", [*INSIDE, *UNFIT])
async def test_an_address_inside_is_refused_by_its_spelling(url: str) -> None:
    """SEC-01: also where it was kept before it was looked at."""
    async with a_provider(allow_private=False) as provider:
        assert await provider.send(a_webhook(url), now=now_ms()) == Refused("the address is none that is called")


@pytest.mark.parametrize("answers", [["127.0.0.1"], ["::1"], ["10.0.0.5", "::ffff:10.0.0.5"], ["169.254.169.254"]])
async def test_a_name_that_leads_inside_is_refused_when_it_is_connected_to(
    answers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """SEC-01: DNS rebinding. What counts is the address that the socket would go to."""

    async def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        return [
            (
                socket.AF_INET6 if ":" in address else socket.AF_INET,
                socket.SOCK_STREAM,
                6,
                "",
                (address, port, 0, 0) if ":" in address else (address, port),
            )
            for address in answers
        ]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    async with raw_http() as server, a_provider(allow_private=False) as provider:
        url = f"http://moved.example:{server.port}/"
        answer = await provider.send(a_webhook(url), now=now_ms())
        assert answer == Refused("the address is not one of the public internet")
        assert server.connections == 0


@pytest.mark.parametrize(
    "key", ["", "whsec_", "whsec_abc", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_" + "A" * 200, "whsec_!!!!"]
)
def test_a_secret_that_is_none_is_refused_at_start_and_not_repeated(key: str) -> None:
    with pytest.raises(SettingsError, match=r"^providers\.hooks\.signing_key: ") as refused:
        WebhookProvider.of(Provider(signing_key=key), Channel(), name="hooks")
    assert not key or key == "whsec_" or key not in str(refused.value)


def test_it_takes_webhooks_and_nothing_else() -> None:
    provider = WebhookProvider.of(Provider(signing_key=SECRET), Channel())
    assert provider.takes(a_webhook("https://hooks.example"))
    assert not provider.takes(Message(delivery_id="d", address="+49", rendered=RenderedSms("x"), locale="en"))


async def test_letters_of_ones_own_are_encoded_and_what_is_encoded_stays() -> None:
    async with raw_http(an_answer(204)) as server, a_provider() as provider:
        for path in ("/grüße?x=é", "/a%2Fb?c=%20+d"):
            assert await provider.send(a_webhook(f"http://localhost:{server.port}{path}"), now=now_ms()) == Sent()
        lines = [request.split(b"\r\n", 1)[0] for request in server.requests]
    assert lines == [b"POST /gr%C3%BC%C3%9Fe?x=%C3%A9 HTTP/1.1", b"POST /a%2Fb?c=%20+d HTTP/1.1"]


async def test_no_detail_and_no_log_repeats_the_address_the_secret_or_the_content(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """SEC-09."""
    caplog.set_level("DEBUG")
    answers: list[Answer] = []
    echo = b"HTTP/1.1 400 pl4nted-path\r\nContent-Length: 12\r\n\r\npl4nted-path"
    async with raw_http(echo, CLOSE, b"HTTP/1.1 ", HANG) as server, a_provider(timeout="300ms") as provider:
        for _ in range(4):
            answers.append(await provider.send(a_webhook(f"{server.url}/pl4nted-path"), now=now_ms()))
    told = f"{answers} {caplog.text}"
    assert not [planted for planted in ("pl4nted", SECRET, SECRET[6:], "Bestätigt") if planted in told]


@pytest.mark.parametrize("secret", [None, "", "whsec_", "no secret at all"])
async def test_a_producers_webhook_without_a_secret_of_its_key_is_refused_and_not_signed_with_another(
    secret: str | None,
) -> None:
    async with raw_http(an_answer(204)) as server, a_provider() as plain:
        provider = replace(plain, hooks={"shop": secret}.get)
        refused = await provider.send(a_webhook(server.url, hook="shop"), now=now_ms())
        assert refused == Refused("its key is revoked or has no webhook any more")
        assert server.connections == 0
