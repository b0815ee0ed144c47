"""SEC-09 for what comes from outside without a login: nothing planted is found in logs, metrics or answers."""

import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from prometheus_client import REGISTRY
from prometheus_client.exposition import generate_latest

from notify_streams.domain.unsubscribe import token
from notify_streams.gateway.receipts import twilio
from notify_streams.settings import Provider
from tests.builders import NOW
from tests.callbacks import SendGrid, Sns, a_bounce, a_reference, a_sendgrid_event, an_ses_event, an_sns
from tests.fakes import Clock
from tests.wire.gateway_parts import SECRET, Bench, a_bench

MAILBOX, NUMBER = "planted.mailbox@secret.example", "+4915155555555"
AUTH_TOKEN, BODY, USER = "planted-auth-token-0123456789abcdef", "planted words of a body", "planted-user@secret.example"
SENDGRID = SendGrid()
REFERENCE = a_reference(user_id=USER)
LINK = token(SECRET, user_id=USER, channel="email", category="marketing", issued_at=NOW)
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
PLANTED = (MAILBOX, NUMBER, NUMBER[1:], AUTH_TOKEN, BODY, USER, SECRET, SENDGRID.key, REFERENCE, LINK)


@pytest.fixture
async def sns() -> AsyncIterator[Sns]:
    async with an_sns() as sns:
        yield sns


@pytest.fixture
async def bench(tmp_path: Path, sns: Sns) -> AsyncIterator[Bench]:
    providers = {
        "sendgrid": Provider(verification_key=SENDGRID.key, api_key="planted-api-key"),
        "twilio": Provider(auth_token=AUTH_TOKEN),
        "ses": Provider(sns_certificate_hosts=(sns.host,)),
    }
    async with a_bench(tmp_path, providers=providers, clock=Clock(NOW), public_url="https://n.example") as bench:
        yield bench


async def everything(bench: Bench, sns: Sns) -> list[str]:
    """Every route with good and bad input, with and without a broker; the answers, headers included."""
    answers: list[str] = []

    async def post(path: str, body: bytes, headers: dict[str, str]) -> None:
        async with bench.client.post(path, data=body, headers=headers) as response:
            answers.append(f"{response.status} {dict(response.headers)} {await response.text()}")

    for bench.orchestrator.away in (False, True):
        bench.redis.kept.clear()
        await _sendgrid(post)
        await _twilio(post)
        await _ses(post, sns)
        for path in (LINK, LINK[:-1], LINK + "x"):
            for body in (b"List-Unsubscribe=One-Click", BODY.encode()):
                await post(f"/v1/unsubscribe/{path}", body, FORM)
            async with bench.client.get(f"/v1/unsubscribe/{path}") as response:
                answers.append(f"{response.status} {await response.text()}")
    return answers


async def _sendgrid(post: object) -> None:
    assert callable(post)
    good = a_sendgrid_event(
        "bounce", email=MAILBOX, type="bounce", reason=f"550 5.1.1 {MAILBOX} {BODY}", notify_reference=REFERENCE
    )
    bad = [
        {"email": MAILBOX, "event": BODY},
        BODY,
        {**good, "email": 7},
        {**good, "timestamp": BODY},
        {**good, "email": BODY},
    ]
    for events in ([good], bad, {"x": BODY}, [{**good, "notify_reference": BODY, "sg_event_id": BODY}]):
        body = json.dumps(events).encode()
        await post("/v1/receipts/sendgrid", body, SENDGRID.headers(body, NOW // 1000))
        await post("/v1/receipts/sendgrid", body, SENDGRID.headers(body, BODY))
        await post("/v1/receipts/sendgrid", body, {"Authorization": f"Bearer {AUTH_TOKEN}"})


async def _twilio(post: object) -> None:
    assert callable(post)
    path = f"/v1/receipts/twilio?{urlencode({'ref': a_reference('sms', user_id=USER)})}"
    texts = {"Body": BODY, "MessageSid": "SM1", "From": NUMBER}
    status = {"MessageSid": "SM2", "MessageStatus": "undelivered", "ErrorCode": "30005", "To": NUMBER}
    for fields in (
        texts,
        {**texts, "From": BODY},
        {**texts, "Body": "STOP"},
        status,
        {**status, "To": BODY},
        {"x": BODY},
    ):
        body = urlencode(fields).encode()
        signed = twilio.signature(AUTH_TOKEN, f"https://n.example{path}", fields.items())
        await post(path, body, {**FORM, "X-Twilio-Signature": signed})
        await post(path, body, {**FORM, "X-Twilio-Signature": BODY})
        await post(path, BODY.encode(), {"X-Twilio-Signature": signed})


async def _ses(post: object, sns: Sns) -> None:
    assert callable(post)
    bounce = a_bounce("Permanent", "General", f"5.1.1 {BODY}", at=NOW, address=MAILBOX)
    bounce["mail"]["tags"]["notify_reference"] = [REFERENCE]
    broken = an_ses_event("Bounce", at=NOW, bounceType=BODY, bouncedRecipients=[{"emailAddress": [MAILBOX]}])
    for message in (bounce, broken, BODY, {"eventType": BODY}):
        envelope = sns.message(message, at=NOW)
        await post("/v1/receipts/ses", json.dumps(envelope).encode(), {})
        await post("/v1/receipts/ses", json.dumps({**envelope, "Message": BODY}).encode(), {})
    await post("/v1/receipts/ses", BODY.encode(), {})
    confirmation = {"kind": "SubscriptionConfirmation", "Token": LINK, "SubscribeURL": f"https://{MAILBOX}/?{LINK}"}
    await post("/v1/receipts/ses", json.dumps(sns.message(BODY, at=NOW, **confirmation)).encode(), {})


async def test_nothing_planted_is_found_in_logs_metrics_or_answers(
    bench: Bench, sns: Sns, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    answers = await everything(bench, sns)
    own = [record for record in caplog.records if record.name != "aiohttp.access"]  # the gateway's server has none
    lines = [logging.Formatter().format(record) for record in own]
    metrics = generate_latest(REGISTRY).decode()
    reasons = [
        text.decode(errors="replace")
        for topic, _, _, headers in bench.orchestrator.published
        if topic == "dead-letters"
        for name, text in headers
        if name.startswith("notify-")
    ]
    assert {"200", "202", "400", "401", "404", "503"} <= {answer[:3] for answer in answers}
    assert not any(answer.startswith("500") for answer in answers)
    assert lines
    assert reasons
    assert "notify_receipts_total" in metrics
    for place in (*answers, *lines, *reasons, metrics):
        assert not [planted for planted in PLANTED if planted in place], place[:300]


async def test_addresses_stay_where_they_have_to_be(bench: Bench, sns: Sns) -> None:
    """On the log they are hashes, but for the raw text of what could not be understood."""
    await everything(bench, sns)
    records = [(topic, key + value) for topic, key, value, _ in bench.orchestrator.published]
    assert {topic for topic, _ in records} >= {"receipts", "address-changes", "dead-letters", "user-commands"}
    for topic, text in records:
        if topic != "dead-letters":
            assert MAILBOX.encode() not in text
            assert NUMBER.encode() not in text
