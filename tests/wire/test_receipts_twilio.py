"""Twilio's callbacks over HTTP: what became of a text message, and what people write back."""

from collections.abc import AsyncIterator
from itertools import permutations
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from notify_streams.domain.addresses import address_key
from notify_streams.domain.status import fold
from notify_streams.gateway.receipts import twilio
from notify_streams.gateway.receipts.said import Callback, Refusal
from notify_streams.settings import Provider
from schemas.addresses import AddressState, LiftSuppressionV1, Owner, SuppressAddressV1, decode_change
from schemas.profiles import Address, Endpoint, ProfileV1
from schemas.receipts import InboundV1, ReceiptV1, decode_receipt
from schemas.words import State
from tests.builders import NOW
from tests.callbacks import A_NOTIFICATION, NUMBER, a_delivery, a_reference
from tests.fakes import Clock
from tests.wire.gateway_parts import Bench, a_bench

TOKEN = "an auth token of thirty-two bytes"
PUBLIC = "https://notify.example"
PATH = "/v1/receipts/twilio"
KEY = address_key("sms", NUMBER).encode()


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    providers = {"twilio": Provider(account_sid="AC1", auth_token=TOKEN)}
    async with a_bench(tmp_path, providers=providers, clock=Clock(NOW), public_url=PUBLIC) as bench:
        yield bench


async def post(
    bench: Bench, fields: dict[str, str], *, path: str = PATH, base: str = PUBLIC, token: str = TOKEN
) -> tuple[int, str]:
    signed = {"X-Twilio-Signature": twilio.signature(token, base + path, fields.items())}
    form = {"Content-Type": "application/x-www-form-urlencoded; charset=UTF-8"}
    async with bench.client.post(path, data=urlencode(fields).encode(), headers={**form, **signed}) as response:
        return response.status, await response.text()


def with_reference(reference: str | None = None) -> str:
    return f"{PATH}?{urlencode({'ref': a_reference('sms') if reference is None else reference})}"


def a_status(status: str, sid: str = "SM1", **fields: str) -> dict[str, str]:
    plain = {"MessageSid": sid, "SmsSid": sid, "MessageStatus": status, "SmsStatus": status}
    return {**plain, "AccountSid": "AC1", "To": NUMBER, "From": "+4915199999999", **fields}


def a_text(body: str, sid: str = "SM9", **fields: str) -> dict[str, str]:
    plain = {"MessageSid": sid, "SmsSid": sid, "SmsMessageSid": sid, "SmsStatus": "received", "NumMedia": "0"}
    return {**plain, "AccountSid": "AC1", "From": NUMBER, "To": "+4915199999999", "Body": body, **fields}


def receipts(bench: Bench) -> list[ReceiptV1]:
    found = [decode_receipt(v) for topic, _, v, _ in bench.orchestrator.published if topic == "receipts"]
    return [receipt for receipt in found if isinstance(receipt, ReceiptV1)]


def inbound(bench: Bench) -> list[InboundV1]:
    found = [decode_receipt(v) for topic, _, v, _ in bench.orchestrator.published if topic == "receipts"]
    return [text for text in found if isinstance(text, InboundV1)]


def changes(bench: Bench) -> list[tuple[bytes, Any]]:
    published = bench.orchestrator.published
    return [(key, decode_change(value)) for topic, key, value, _ in published if topic == "address-changes"]


@pytest.mark.parametrize(
    ("url", "fields", "signed"),
    [
        (
            "https://mycompany.com/myapp.php?foo=1&bar=2",
            {
                "CallSid": "CA1234567890ABCDE",
                "Digits": "1234",
                "From": "+14158675309",
                "To": "+18005551212",
                "Caller": "+14158675309",
            }.items(),
            "RSOYDt4T1cUTdK1PDd93/VVr8B8=",
        ),
        (
            "https://mycompany.com/myapp.php?foo=1&bar=2",
            [("Sid", "CA123"), ("SidAccount", "AC123"), ("Digits", "5678"), ("Digits", "1234")],
            "IK+Dwps556ElfBT0I3Rgjkr1wJU=",
        ),
    ],
)
def test_twilios_published_examples_are_signed_alike(url: str, fields: Any, signed: str) -> None:
    """Twilio, "Security"; twilio/twilio-python, test_request_validator; the auth token is 12345."""
    assert twilio.signature("12345", url, fields) == signed


@pytest.mark.parametrize("url", ["https://a:99999/x", "https://a:b/x", "https://[a/x"])
def test_a_host_that_is_none_is_a_refusal(url: str) -> None:
    """Without a public_url the address is the one of the request, whatever its Host says."""
    callback = Callback(body=b"", headers={"x-twilio-signature": "x"}, url=url, query={}, now=NOW)
    assert isinstance(twilio.read(callback, [("MessageSid", "SM1")], TOKEN), Refusal)


async def test_a_status_is_a_receipt_of_the_delivery_in_the_urls_reference(bench: Bench) -> None:
    status, _ = await post(bench, a_status("delivered"), path=with_reference())
    assert status == 202
    [receipt] = receipts(bench)
    assert (receipt.delivery_id, receipt.user_id, receipt.channel) == (a_delivery("sms"), "ann", "sms")
    assert (receipt.state, receipt.at, receipt.provider_message_id) == ("delivered", NOW, "SM1")
    assert bench.settled.ids == [(a_delivery("sms"), NOW, "SM1")]


async def test_all_24_orders_of_receipts_are_one_delivery(bench: Bench) -> None:
    """SMS-07: queued, sent, delivered, delivered, each order for a fresh message."""
    said = ("queued", "sent", "delivered", "delivered")
    for number, order in enumerate(permutations(range(4))):
        bench.orchestrator.published.clear()
        for place in order:
            assert (await post(bench, a_status(said[place], sid=f"SM{number}"), path=with_reference()))[0] == 202
        status = fold(A_NOTIFICATION, receipts(bench))
        assert status is not None
        [delivery] = status.channels[0].deliveries
        assert (delivery.state, delivery.delivered_at, len(delivery.receipts)) == (State.DELIVERED, NOW, 3)
        assert delivery.flags == ()


@pytest.mark.parametrize(
    ("code", "reason"),
    [("21610", "opt_out"), ("30005", "bounce"), ("30003", None), ("30004", None), ("30006", None), ("30007", None)],
)
async def test_only_a_number_that_is_not_there_or_said_stop_is_held(
    bench: Bench, code: str, reason: str | None
) -> None:
    """EML-07, the same kind: a carrier's filter or a handset that is switched off says nothing against the number."""
    await post(bench, a_status("undelivered", ErrorCode=code), path=with_reference())
    assert [(r.state, r.detail) for r in receipts(bench)] == [("failed", code)]
    held = changes(bench)
    assert [change.reason for _, change in held] == ([] if reason is None else [reason])
    assert {key for key, _ in held} <= {KEY}


async def test_what_is_not_signed_with_the_account_token_is_refused(bench: Bench) -> None:
    status, answer = await post(bench, a_status("sent"), path=with_reference(), token="another")
    assert status == 401
    assert "signature_invalid" in answer
    assert (await post(bench, a_status("sent"), path=with_reference(), base="https://elsewhere.example"))[0] == 401
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    async with bench.client.post(PATH, data=urlencode(a_status("sent")), headers=form) as response:
        assert response.status == 401
    assert bench.orchestrator.published == []


async def test_the_reference_in_the_url_is_part_of_what_is_signed(bench: Bench) -> None:
    """WHK-06, the same kind: an old signature does not carry another reference."""
    fields = a_status("delivered")
    signed = {"X-Twilio-Signature": twilio.signature(TOKEN, PUBLIC + PATH + "?ref=other", fields.items())}
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    async with bench.client.post(with_reference(), data=urlencode(fields), headers={**form, **signed}) as response:
        assert response.status == 401


@pytest.mark.parametrize("base", ["https://notify.example:443", "https://notify.example"])
async def test_the_port_may_be_signed_or_left_out(bench: Bench, base: str) -> None:
    assert (await post(bench, a_status("sent"), path=with_reference(), base=base))[0] == 202


async def test_behind_a_prefix_the_public_address_counts(tmp_path: Path) -> None:
    providers = {"text": Provider(kind="twilio", auth_token=TOKEN)}
    base = "https://api.example/notify/"
    async with a_bench(tmp_path, providers=providers, clock=Clock(NOW), public_url=base) as bench:
        path = with_reference().replace("twilio", "text")
        assert (await post(bench, a_status("sent"), path=path, base=base.rstrip("/")))[0] == 202


@pytest.mark.parametrize(
    "word",
    [
        *("STOP", " stop ", "Stop.", "STOPALL", "UNSUBSCRIBE", "CANCEL", "END", "QUIT", "REVOKE", "OPTOUT", "opt out"),
        *("stop!!", "Stop …", "\tSTOP\r\n", "Opt-Out", "end。", "stop ?!"),
    ],
)
async def test_a_stop_word_opts_the_number_out(bench: Bench, word: str) -> None:
    """SMS-04: also with punctuation after it. Twilio confirms it itself, so nothing is answered."""
    status, answer = await post(bench, a_text(word))
    assert (status, answer) == (200, '<?xml version="1.0" encoding="UTF-8"?><Response/>')
    [(key, change)] = changes(bench)
    assert isinstance(change, SuppressAddressV1)
    assert (key, change.channel, change.reason, change.until) == (KEY, "sms", "opt_out", None)
    assert inbound(bench) == []


@pytest.mark.parametrize(
    "text", ["please don't stop", "STOP 12345", "bus stop?", "", "Yes", "stop stop", "ok", "stopp"]
)
async def test_what_is_more_than_the_word_is_passed_on(bench: Bench, text: str) -> None:
    """SMS-04: the last three do not opt out, and somebody reads them."""
    assert (await post(bench, a_text(text)))[0] == 200
    assert changes(bench) == []
    assert [(t.text, t.address_key, t.provider) for t in inbound(bench)] == [(text, KEY.decode(), "twilio")]


@pytest.mark.parametrize("word", ["START", "unstop", "Start."])
async def test_start_lifts_the_opt_out_and_nothing_else(bench: Bench, word: str) -> None:
    await post(bench, a_text(word))
    [(key, change)] = changes(bench)
    assert isinstance(change, LiftSuppressionV1)
    assert (key, change.only) == (KEY, "opt_out")


async def test_a_repeated_stop_changes_nothing_and_a_second_one_is_one_of_its_own(bench: Bench) -> None:
    """SMS-04: no confirmation on a repeat; WHK-02."""
    for sid in ("SM1", "SM1", "SM2"):
        assert (await post(bench, a_text("STOP", sid=sid)))[1].endswith("<Response/>")
    assert len(changes(bench)) == 2


async def test_stop_finds_the_users_of_the_number_and_start_gives_it_back(bench: Bench) -> None:
    """SMS-04 as far as the profile: the registry knows whose number it is. A bounce is not lifted by START."""
    phone = Endpoint(channel="sms", endpoint_id="phone", verified=True, content=Address(NUMBER))
    bench.orchestrator.profiles["ann"] = ProfileV1(version=1, endpoints=(phone,))
    bench.orchestrator.addresses[KEY.decode()] = AddressState("sms", (Owner("ann", "phone", NOW),))

    def held() -> str | None:
        return bench.orchestrator.profiles["ann"].endpoints[0].suppressed

    await post(bench, a_text("Stop.", sid="SM1"))
    assert held() == "opt_out"
    await post(bench, a_text("START", sid="SM2"))
    assert held() is None
    await post(bench, a_status("failed", sid="SM3", ErrorCode="30005"), path=with_reference())
    await post(bench, a_text("START", sid="SM4"))
    assert held() == "bounce"


async def test_what_twilios_own_lists_made_of_the_word_counts(bench: Bench) -> None:
    """Other languages: Advanced Opt-Out names them (`OptOutType`)."""
    await post(bench, a_text("ARRET", OptOutType="STOP"))
    assert [change.reason for _, change in changes(bench)] == ["opt_out"]


async def test_a_text_from_no_number_is_kept_aside(bench: Bench) -> None:
    assert (await post(bench, a_text("STOP", From="whatsapp:+4915112345678")))[0] == 200
    assert [topic for topic, *_ in bench.orchestrator.published] == ["dead-letters"]


async def test_a_multipart_form_in_another_charset_is_taken(bench: Bench) -> None:
    """WHK-08: a field in latin-1, with its charset and without."""
    fields = a_text("Grüße, é")
    signed = twilio.signature(TOKEN, PUBLIC + PATH, fields.items())
    for charset, text in (("; charset=iso-8859-1", "Grüße, é"), ("", "Gr\ufffd\ufffde, \ufffd")):
        parts = b"".join(
            b'--b\r\nContent-Disposition: form-data; name="%b"\r\nContent-Type: text/plain%b\r\n\r\n%b\r\n'
            % (name.encode(), charset.encode(), value.encode("latin-1"))
            for name, value in fields.items()
        )
        fields_as_read = {**fields, "Body": text}
        signed = twilio.signature(TOKEN, PUBLIC + PATH, fields_as_read.items())
        headers = {"Content-Type": 'multipart/form-data; boundary="b"', "X-Twilio-Signature": signed}
        bench.redis.kept.clear()
        async with bench.client.post(PATH, data=parts + b"--b--\r\n", headers=headers) as response:
            assert response.status == 200
    assert [t.text for t in inbound(bench)] == ["Grüße, é", "Gr\ufffd\ufffde, \ufffd"]


@pytest.mark.parametrize("fields", [{}, {"CallSid": "CA1", "CallStatus": "completed"}, {"MessageSid": "SM1"}])
async def test_a_callback_of_another_kind_is_a_4xx_with_a_plain_reason(bench: Bench, fields: dict[str, str]) -> None:
    """WHK-10: the status of a call, signed by Twilio, sent to the wrong address."""
    status, answer = await post(bench, fields)
    assert status == 400
    assert "neither the status of a message" in answer


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b'{"MessageSid":"SM1"}', "application/json"),
        (b"x", "multipart/form-data"),
        (b"x", "multipart/form-data; boundary=b"),
        (b"a=1&" * 2000, "application/x-www-form-urlencoded"),
        (b"x", ""),
    ],
)
async def test_what_is_no_form_is_a_4xx(bench: Bench, body: bytes, content_type: str) -> None:
    """WHK-10"""
    headers = {"Content-Type": content_type, "X-Twilio-Signature": "x"}
    status, problem = await bench.json("POST", PATH, data=body, headers=headers)
    assert (status, problem["code"]) == (400, "unknown_callback")


async def test_a_thousand_of_another_environment_change_nothing(bench: Bench) -> None:
    """WHK-10"""
    for number in range(1000):
        fields = a_status("undelivered", sid=f"SM{number}", ErrorCode="30005")
        assert (await post(bench, fields, path=with_reference("x" * (number % 9))))[0] == 202
    assert bench.orchestrator.published == []


async def test_a_status_that_is_new_changes_nothing(bench: Bench) -> None:
    assert (await post(bench, a_status("teleported"), path=with_reference()))[0] == 202
    assert bench.orchestrator.published == []


async def test_without_a_token_nothing_is_taken(tmp_path: Path) -> None:
    async with a_bench(tmp_path, providers={"twilio": Provider()}, public_url=PUBLIC) as bench:
        assert (await post(bench, a_status("sent"), path=with_reference(), token=""))[0] == 401
