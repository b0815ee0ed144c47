"""Text messages through Twilio: what goes over the wire, and what its answers mean."""

import base64
import contextlib
import json
from collections.abc import AsyncIterator
from urllib.parse import parse_qsl

import pytest

from notify_streams.domain.answers import Answer, EndpointGone, Misconfigured, Refused, Sent, TryLater, Unknown
from notify_streams.domain.rendered import RenderedEmail, RenderedSms
from notify_streams.domain.segments import count
from notify_streams.ports import Message
from notify_streams.providers.twilio.adapter import TwilioProvider
from notify_streams.settings import Channel, Provider, SettingsError
from tests.builders import HOUR, MINUTE, NOW
from tests.http_servers import CLOSE, HANG, RESET, raw_http

SID, TOKEN = "AC" + "0" * 32, "pl4nted-token"
TO = "+447400123456"
NORWEGIAN = ("Kjære Åse, pakken din fra Bærum er nå på vei.\nDu får den på døra i morgen før klokka åtte. " * 3)[:160]


def an_sms(text: str = "Your order 123 is confirmed", to: str = TO, **changes: int | str) -> Message:
    plain = {"delivery_id": "d-1", "expires_at": NOW + 90_000, "reference": "r3f-_x"}
    return Message(address=to, rendered=RenderedSms(text), locale="en", **plain | changes)  # type: ignore[arg-type]


def settings_of(url: str = "", **changes: str | tuple[str, ...]) -> Provider:
    plain = {"url": url, "account_sid": SID, "auth_token": TOKEN, "from_number": "+15005550006"}
    return Provider(**plain | changes)  # type: ignore[arg-type]


@contextlib.asynccontextmanager
async def a_provider(
    url: str = "", *, public_url: str = "https://n.example", timeout: str = "2s", **changes: str | tuple[str, ...]
) -> AsyncIterator[TwilioProvider]:
    channel = Channel(attempt_timeout=timeout, concurrency=4)
    provider = TwilioProvider.of(settings_of(url, **changes), channel, public_url=public_url)
    try:
        yield provider
    finally:
        await provider.close()


def an_answer(http: int = 201, headers: str = "", **body: object) -> bytes:
    text = json.dumps(body or {"sid": "SM1", "status": "queued", "num_segments": "1"}).encode()
    head = f"HTTP/1.1 {http} X\r\nContent-Type: application/json\r\n{headers}Content-Length: {len(text)}\r\n\r\n"
    return head.encode() + text


def the_form(request: bytes) -> dict[str, str]:
    return dict(parse_qsl(request.partition(b"\r\n\r\n")[2].decode(), keep_blank_values=True, strict_parsing=True))


async def test_a_text_goes_out_as_a_form_with_its_life_and_where_receipts_go() -> None:
    async with raw_http(an_answer()) as server, a_provider(server.url) as provider:
        assert await provider.send(an_sms(), now=NOW) == Sent("SM1", segments=1)
        [request] = server.requests
    head = request.partition(b"\r\n\r\n")[0].decode()
    assert head.startswith(f"POST /2010-04-01/Accounts/{SID}/Messages.json HTTP/1.1\r\n")
    assert "Authorization: Basic " + base64.b64encode(f"{SID}:{TOKEN}".encode()).decode() in head
    assert "Content-Type: application/x-www-form-urlencoded" in head
    assert the_form(request) == {
        "To": TO,
        "From": "+15005550006",
        "Body": "Your order 123 is confirmed",
        "ValidityPeriod": "90",
        "StatusCallback": "https://n.example/v1/receipts/twilio?ref=r3f-_x",
    }


@pytest.mark.parametrize(
    ("life", "period"), [(0, "1"), (999, "1"), (MINUTE, "60"), (10 * HOUR, "36000"), (HOUR * 99, "36000")]
)
async def test_what_is_left_of_its_life_is_all_that_twilio_gets(life: int, period: str) -> None:
    async with raw_http(an_answer()) as server, a_provider(server.url) as provider:
        await provider.send(an_sms(expires_at=NOW + life), now=NOW)
        assert the_form(server.requests[0])["ValidityPeriod"] == period


@pytest.mark.parametrize(
    ("text", "segments"),
    [(NORWEGIAN, 1), ("Posten: " + NORWEGIAN, 2), ("a" * 161, 2), ("ç" * 70, 1), ("ç" * 71, 2), ("😀" * 36, 2)],
)
async def test_the_text_arrives_as_it_was_counted(text: str, segments: int) -> None:
    """TPL-18, TPL-15: what the form's encoding makes of it counts for nothing."""
    taken = an_answer(sid="SM1", status="queued", num_segments=str(segments))
    async with raw_http(taken) as server, a_provider(server.url) as provider:
        assert await provider.send(an_sms(text), now=NOW) == Sent("SM1", segments=segments)
        assert the_form(server.requests[0])["Body"] == text
    assert count(text).segments == segments


async def test_segments_are_those_that_are_billed_where_twilio_names_them() -> None:
    """TPL-18: 0 is what a Messaging Service says before it has chosen the sender."""
    replies = [an_answer(sid="SM", status="queued", num_segments=said) for said in ("3", "0", "x")]
    async with raw_http(*replies) as server, a_provider(server.url) as provider:
        answers = [await provider.send(an_sms("a" * 161), now=NOW) for _ in replies]
    assert [a.segments for a in answers if isinstance(a, Sent)] == [3, 2, 2]


@pytest.mark.parametrize("sender", ["ElevenChars", "Ab 1-_.&", "A", "a+1", "1234567890a"])
def test_an_alphanumeric_sender_is_taken(sender: str) -> None:
    """SMS-06."""
    provider = TwilioProvider.of(settings_of(alphanumeric_sender=sender), Channel())
    assert provider.senders.alphanumeric == sender


@pytest.mark.parametrize(
    "sender", ["TwelveCharsX", "O'Brien", "12345678901", "+491701", "- _", "Müller", "a\n", "a\tb", "a,b", "a\u0661"]
)
def test_an_alphanumeric_sender_that_twilio_would_not_take_is_refused_at_start(sender: str) -> None:
    """SMS-06."""
    with pytest.raises(SettingsError, match=r"providers\.twilio\.alphanumeric_sender: ") as refused:
        TwilioProvider.of(settings_of(alphanumeric_sender=sender), Channel())
    assert sender == "- _" or sender not in str(refused.value)


@pytest.mark.parametrize(
    ("to", "numeric_only", "sender", "detail"),
    [
        ("+447400123456", ("1",), "ElevenChars", ""),
        ("+61491570156", ("1",), "ElevenChars", ""),
        ("+61491570156", ("1", "+61"), "+15005550006", "numeric_sender +61"),
        ("+12025550123", ("1",), "+15005550006", "numeric_sender +1"),
        ("+12025550123", (), "ElevenChars", ""),
        ("+18765550123", ("1",), "+15005550006", "numeric_sender +1"),
    ],
)
async def test_countries_without_alphanumeric_senders_get_the_number_and_it_is_said(
    to: str, numeric_only: tuple[str, ...], sender: str, detail: str
) -> None:
    """SMS-06."""
    own: dict[str, str | tuple[str, ...]] = {"alphanumeric_sender": "ElevenChars", "numeric_only": numeric_only}
    async with raw_http(an_answer()) as server, a_provider(server.url, **own) as provider:  # type: ignore[arg-type]
        assert await provider.send(an_sms(to=to), now=NOW) == Sent("SM1", segments=1, detail=detail)
        assert the_form(server.requests[0])["From"] == sender


async def test_a_country_that_no_sender_reaches_is_a_refusal_and_never_a_silent_loss() -> None:
    """SMS-06."""
    own = {"alphanumeric_sender": "ElevenChars", "from_number": ""}
    async with raw_http(an_answer()) as server, a_provider(server.url, **own) as provider:
        assert await provider.send(an_sms(to="+12025550123"), now=NOW) == Refused("no numeric sender for +1")
        assert isinstance(await provider.send(an_sms(), now=NOW), Sent)
        assert len(server.requests) == 1


async def test_a_messaging_service_chooses_the_sender() -> None:
    own = {"messaging_service_sid": "MG" + "a" * 32}
    async with raw_http(an_answer()) as server, a_provider(server.url, **own) as provider:
        await provider.send(an_sms(), now=NOW)
        form = the_form(server.requests[0])
    assert form["MessagingServiceSid"] == "MG" + "a" * 32
    assert "From" not in form


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"account_sid": ""}, "account_sid"),
        ({"auth_token": ""}, "auth_token"),
        ({"from_number": ""}, "from_number"),
        ({"from_number": "0170 1234567"}, "from_number"),
        ({"messaging_service_sid": "MG1"}, "messaging_service_sid"),
        ({"numeric_only": ("USA",)}, "numeric_only"),
        ({"default_region": "Germany"}, "default_region"),
        ({"url": "ftp://x"}, "url"),
        ({"ca_file": "/nowhere.pem"}, "ca_file"),
    ],
)
def test_what_is_missing_or_wrong_is_refused_at_start_with_its_name(changes: dict[str, str], named: str) -> None:
    with pytest.raises(SettingsError, match=rf"^providers\.sms-eu\.{named}: ") as refused:
        TwilioProvider.of(settings_of(**changes), Channel(), name="sms-eu")
    assert TOKEN not in str(refused.value)


@pytest.mark.parametrize(
    ("status", "code", "answer"),
    [
        (400, 21211, EndpointGone("400 21211")),
        (400, 21614, EndpointGone("400 21614")),
        (400, 21635, EndpointGone("400 21635")),
        (400, 21408, Refused("400 21408")),
        (400, 21610, Refused("400 21610", about="opted_out")),
        (400, 21612, Refused("400 21612")),
        (400, 21617, Refused("400 21617")),
        (400, 29999, Refused("400 29999")),
        (400, 30007, Refused("400 30007", about="sender")),
        (400, 21606, Misconfigured("400 21606")),
        (400, 21609, Misconfigured("400 21609")),
        (401, 20003, Misconfigured("401 20003")),
        (403, 20003, Misconfigured("403 20003")),
        (404, 20404, Misconfigured("404 20404")),
        (429, 20429, TryLater("429 20429", about="provider")),
        (429, 21611, TryLater("429 21611", about="provider")),
        (500, 20500, TryLater("500 20500", about="provider")),
        (400, 30003, TryLater("400 30003", about="endpoint")),
        (503, None, TryLater("503", about="provider")),
        (501, None, Refused("501")),
        (422, {"a": 1}, Refused("422")),
        (400, "+447400123456 is no number", Refused("400")),
    ],
)
async def test_an_error_is_read_by_its_code_and_else_by_its_status(status: int, code: object, answer: Answer) -> None:
    """RTY-04."""
    said = an_answer(status, code=code, message=f"about {TO}", status=status)
    async with raw_http(said) as server, a_provider(server.url) as provider:
        assert await provider.send(an_sms(), now=NOW) == answer


async def test_one_that_fails_as_it_is_created_is_read_by_its_error_code() -> None:
    said = an_answer(201, sid="SM1", status="failed", error_code=21610)
    async with raw_http(said) as server, a_provider(server.url) as provider:
        assert await provider.send(an_sms(), now=NOW) == Refused("400 21610", about="opted_out")


async def test_too_many_requests_are_tried_again_when_twilio_says() -> None:
    """RTY-02."""
    said = an_answer(429, "Retry-After: 7\r\n", code=20429)
    async with raw_http(said) as server, a_provider(server.url) as provider:
        assert await provider.send(an_sms(), now=NOW) == TryLater("429 20429", 7.0, about="provider")


@pytest.mark.parametrize("lost", [CLOSE, RESET, HANG])
async def test_a_lost_answer_is_unknown_and_both_attempts_carry_one_reference(lost: bytes) -> None:
    """IDM-03: Twilio has no idempotency key for messages, so the next one waits for a receipt with the reference."""
    async with raw_http(lost, an_answer()) as server, a_provider(server.url, timeout="300ms") as provider:
        assert not provider.repeatable
        first = await provider.send(an_sms(), now=NOW)
        second = await provider.send(an_sms(), now=NOW + MINUTE)
        callbacks = {the_form(request)["StatusCallback"] for request in server.requests}
    assert isinstance(first, Unknown)
    assert isinstance(second, Sent)
    assert len(server.requests) == 2
    assert callbacks == {"https://n.example/v1/receipts/twilio?ref=r3f-_x"}


async def test_what_twilio_would_refuse_by_its_length_is_not_sent() -> None:
    async with raw_http(an_answer()) as server, a_provider(server.url, public_url="") as provider:
        assert await provider.send(an_sms("a" * 1601), now=NOW) == Refused("longer than 1,600 characters")
        assert await provider.send(an_sms("a" * 1600), now=NOW) == Sent("SM1", segments=1)
        assert "StatusCallback" not in the_form(server.requests[0])


def test_it_takes_texts_to_numbers_and_nothing_else() -> None:
    provider = TwilioProvider.of(settings_of(), Channel())
    assert provider.takes(an_sms())
    assert not provider.takes(an_sms(to="0170 1234567"))
    mail = Message(delivery_id="d", address=TO, rendered=RenderedEmail("s", "t", "h"), locale="en")
    assert not provider.takes(mail)


async def test_no_detail_and_no_log_repeats_number_token_or_text(caplog: pytest.LogCaptureFixture) -> None:
    said = an_answer(400, code=21606, message=f"{TO} {TOKEN}")
    async with raw_http(said, b"HTTP/1.1 ", said) as server, a_provider(server.url, timeout="300ms") as provider:
        answers = [await provider.send(an_sms("s3cret text"), now=NOW) for _ in range(3)]
    told = f"{answers} {caplog.text}"
    assert "twilio.configuration provider=twilio code=21606" in caplog.text
    assert not [planted for planted in (TO, TO[1:], TOKEN, "s3cret", SID) if planted in told]
