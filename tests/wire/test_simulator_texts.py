"""The simulator as Twilio and as somebody's webhook server: what it takes, refuses, signs and says later."""

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlencode

import aiohttp
import pytest
from standardwebhooks.webhooks import Webhook

from notify_streams.domain.answers import EndpointGone, Misconfigured, Refused, Sent, TryLater, Unknown
from notify_streams.domain.rendered import Rendered, RenderedSms, RenderedWebhook
from notify_streams.gateway.receipts import twilio as reader
from notify_streams.gateway.receipts.said import Callback, Event, Text
from notify_streams.ports import Message
from notify_streams.providers.simulator import hooks, twilio_messages
from notify_streams.providers.simulator.twilio_messages import signature
from notify_streams.providers.twilio.adapter import TwilioProvider
from notify_streams.providers.webhook.adapter import WebhookProvider
from notify_streams.providers.webhook.signing import new_secret
from notify_streams.settings import Channel, Provider
from tests.simulated import Tell
from tests.simulated_texts import ACCOUNT, SECRET, TO, Simulated, now_ms, simulated


async def texted(to: Simulated, text: str = "Hello", number: str = TO, **changes: Any) -> Any:
    """What the adapter makes of the simulator's answer."""
    plain = {"account_sid": ACCOUNT.sid, "auth_token": ACCOUNT.token, "from_number": "+15005550006"}
    settings = Provider(**{"url": f"{to.url}/twilio", **plain, **changes})
    provider = TwilioProvider.of(settings, Channel(attempt_timeout="1s"), public_url="https://n.example")
    try:
        return await provider.send(a_message(number, RenderedSms(text)), now=now_ms())
    finally:
        await provider.close()


async def called(to: Simulated, path: str = "/hooks/ann", secret: str = SECRET) -> Any:
    settings = Provider(signing_key=secret, allow_private=True)
    provider = WebhookProvider.of(settings, Channel(attempt_timeout="1s"))
    try:
        return await provider.send(a_message(to.url + path, RenderedWebhook({"a": "b"})), now=now_ms())
    finally:
        await provider.close()


def a_message(address: str, rendered: Rendered) -> Message:
    expires_at = now_ms() + 60_000
    return Message(
        delivery_id="d-1",
        address=address,
        rendered=rendered,
        locale="en",
        type="order.confirmed",
        reference="r3f",
        expires_at=expires_at,
        accepted_at=now_ms(),
    )


def test_twilios_published_signature_is_the_one_that_is_made() -> None:
    """The example of Twilio's "Security" page."""
    fields = {
        "CallSid": "CA1234567890ABCDE",
        "Caller": "+14158675309",
        "Digits": "1234",
        "From": "+14158675309",
        "To": "+18005551212",
    }
    url = "https://mycompany.com/myapp.php?foo=1&bar=2"
    assert signature("12345", url, fields) == "RSOYDt4T1cUTdK1PDd93/VVr8B8="
    assert reader.signature("12345", url, fields.items()) == "RSOYDt4T1cUTdK1PDd93/VVr8B8="


@pytest.mark.parametrize(("text", "segments"), [("a" * 160, 1), ("a" * 161, 2), ("ç" * 70, 1), ("€" * 81, 2)])
async def test_a_text_is_taken_counted_and_logged_as_it_came(text: str, segments: int) -> None:
    """TPL-18."""
    async with simulated() as to:
        answer = await texted(to, text)
    assert isinstance(answer, Sent)
    assert answer.segments == segments
    [entry] = to.kit.entries
    assert (entry.provider, entry.event, entry.to, entry.identity) == ("twilio", "accepted", TO, "r3f")
    assert entry.answer == f"201 {answer.message_id}"
    assert dict(parse_qsl((entry.content or b"").decode()))["Body"] == text


async def test_what_became_of_it_is_said_signed_and_read_by_the_gateway() -> None:
    async with simulated() as to:
        answer = await texted(to)
        await texted(to, number="+447400130005")
    said = [read(*posted) for posted in to.posted]
    assert [(event.state, event.detail, event.reference) for event in said] == [
        ("queued", "", "r3f"),
        ("sent", "", "r3f"),
        ("delivered", "", "r3f"),
        ("queued", "", "r3f"),
        ("sent", "", "r3f"),
        ("failed", "30005", "r3f"),
    ]
    assert {event.message_id for event in said[:3]} == {answer.message_id}
    assert [after for *_, after in to.posted[:3]] == sorted(after for *_, after in to.posted[:3])


def read(url: str, body: bytes, headers: Mapping[str, str], _: float) -> Event:
    """As the gateway reads it, which nobody here has told how it was signed."""
    fields = parse_qsl(body.decode(), keep_blank_values=True)
    [said] = reader.read(a_callback(url, body, headers), fields, ACCOUNT.token)  # type: ignore[misc]
    assert isinstance(said, Event)
    return said


def a_callback(url: str, body: bytes, headers: Mapping[str, str]) -> Callback:
    query = dict(parse_qsl(url.partition("?")[2]))
    return Callback(url=url, query=query, headers={k.lower(): v for k, v in headers.items()}, body=body, now=now_ms())


@pytest.mark.parametrize(
    ("number", "answer"),
    [
        ("+15005550001", EndpointGone("400 21211")),
        ("+15005550002", Refused("400 21612")),
        ("+15005550003", Refused("400 21408")),
        ("+15005550004", Refused("400 21610", about="opted_out")),
        ("+15005550009", EndpointGone("400 21614")),
    ],
)
async def test_twilios_numbers_for_tests_are_refused_as_it_says(number: str, answer: Any) -> None:
    async with simulated() as to:
        assert await texted(to, number=number) == answer
    assert [entry.event for entry in to.kit.entries] == ["refused"]
    assert to.posted == []


async def test_credentials_account_and_senders_are_checked() -> None:
    async with simulated() as to:
        assert await texted(to, auth_token="wrong") == Misconfigured("401 20003")
        alphanumeric: dict[str, Any] = {"alphanumeric_sender": "ElevenChars", "numeric_only": ()}
        assert await texted(to, number="+12025550123", **alphanumeric) == Refused("400 21612")
        assert isinstance(await texted(to, **alphanumeric), Sent)
        other = f"{to.url}/twilio/2010-04-01/Accounts/AC2/Messages.json"
        login = base64.b64encode(f"{ACCOUNT.sid}:{ACCOUNT.token}".encode()).decode()
        status, answer = await posted(other, b"", {"Authorization": f"Basic {login}"})
        assert (status, answer["code"]) == (404, 20404)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"To": ""}, 21604),
        ({"To": "0170"}, 21211),
        ({"From": ""}, 21603),
        ({"From": "TwelveCharsX"}, 21212),
        ({"Body": ""}, 21602),
        ({"Body": "a" * 1601}, 21617),
        ({"ValidityPeriod": "36001"}, 400),
        ({"StatusCallback": "gateway/receipts"}, 21609),
        ({"StatusCallback": "http://my_host/x"}, 21609),
    ],
)
async def test_a_form_that_twilio_would_not_take_is_refused_with_its_code(change: dict[str, str], code: int) -> None:
    fields = {"To": TO, "From": "+15005550006", "Body": "x", "ValidityPeriod": "60", **change}
    login = base64.b64encode(f"{ACCOUNT.sid}:{ACCOUNT.token}".encode()).decode()
    async with simulated() as to:
        url = f"{to.url}/twilio/{twilio_messages.API}/Accounts/{ACCOUNT.sid}/Messages.json"
        status, answer = await posted(url, urlencode(fields).encode(), {"Authorization": f"Basic {login}"})
    assert (status, answer["code"], answer["status"]) == (400, code, 400)


async def posted(url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, Any]:
    async with aiohttp.ClientSession() as session, session.post(url, data=body, headers=headers) as response:
        return response.status, json.loads(await response.read() or b"null")


async def test_it_answers_as_told_and_then_by_itself() -> None:
    """IDM-03: of a dropped answer the receipts come all the same."""
    slow_down = Tell("refuse", 429, headers={"Retry-After": "3"})
    async with simulated() as to:
        to.kit.told[TO] = [slow_down, Tell("refuse", 503), Tell("drop"), Tell("reset"), Tell("hang"), Tell("accept")]
        answers = [await texted(to) for _ in range(7)]
    assert answers[:2] == [TryLater("429 20429", 3.0, about="provider"), TryLater("503 20503", about="provider")]
    assert [type(answer) for answer in answers[2:]] == [Unknown, Unknown, Unknown, Sent, Sent]
    assert [entry.event for entry in to.kit.entries] == [*["refused"] * 2, *["dropped"] * 3, *["accepted"] * 2]
    assert {entry.identity for entry in to.kit.entries} == {"r3f"}
    assert len(to.posted) == 9


async def test_somebody_texts_back_and_the_gateway_understands() -> None:
    text = {"from": TO, "to": "+15005550006", "body": "Stop.", "url": "https://n.example/v1/receipts/twilio"}
    async with simulated() as to:
        status, _ = await posted(f"{to.url}/twilio/inbound", json.dumps(text).encode(), {})
        assert (status, (await posted(f"{to.url}/twilio/inbound", b"{}", {}))[0]) == (202, 400)
    [(url, body, headers, _)] = to.posted
    fields = parse_qsl(body.decode(), keep_blank_values=True)
    [said] = reader.read(a_callback(url, body, headers), fields, ACCOUNT.token)  # type: ignore[misc]
    assert isinstance(said, Text)
    assert (said.sender, said.text, said.asks) == (TO, "Stop.", "stop")


async def test_a_signed_webhook_is_taken_and_logged_and_another_one_is_not() -> None:
    async with simulated() as to:
        assert await called(to) == Sent()
        assert await called(to, secret=new_secret()) == TryLater("401", about="endpoint")
    accepted, refused = to.kit.entries
    assert (accepted.event, accepted.to, accepted.answer) == ("accepted", "/hooks/ann", "204 order.confirmed")
    assert (accepted.delivery_id, refused.event, refused.answer) == ("d-1", "refused", "401 not signed")
    assert json.loads(accepted.content or b"")["data"] == {"a": "b"}


async def test_the_webhooks_server_answers_as_told() -> None:
    async with simulated() as to:
        to.kit.told["/hooks/bob?x=1"] = [Tell("refuse", 410), Tell("drop"), Tell("refuse", 503)]
        answers = [await called(to, "/hooks/bob?x=1") for _ in range(4)]
    assert answers[0] == EndpointGone("410")
    assert isinstance(answers[1], Unknown)
    assert answers[2:] == [TryLater("503", about="endpoint"), Sent()]


def test_what_the_library_of_standard_webhooks_signs_is_taken_and_what_is_old_or_forged_is_not() -> None:
    body, at = b'{"type":"a"}', datetime.now(UTC)
    now = at.timestamp()
    fields = {
        "webhook-id": "m-1",
        "webhook-timestamp": str(int(now)),
        "webhook-signature": "v1,bm9uZQ== " + Webhook(SECRET).sign("m-1", at, body.decode()),
    }
    assert hooks.is_signed(fields, body, [SECRET], now)
    assert not hooks.is_signed(fields, body + b" ", [SECRET], now)
    assert not hooks.is_signed(fields, body, [new_secret(), "whsec_?"], now)
    assert not hooks.is_signed(fields, body, [SECRET], now + 301)
    assert not hooks.is_signed({**fields, "webhook-id": "m-2"}, body, [SECRET], now)
    assert not hooks.is_signed({}, body, [SECRET], now)
