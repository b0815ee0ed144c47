"""SES's events through SNS over HTTP, signed with a certificate of our own."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from notify_streams.gateway.receipts import sns as sns_module
from notify_streams.settings import Provider
from schemas.addresses import SuppressAddressV1, decode_change
from schemas.receipts import ReceiptV1, decode_receipt
from tests.builders import DAY, HOUR, NOW
from tests.callbacks import MAILBOX, TOPIC, Sns, a_bounce, a_delivery, a_reference, an_ses_event, an_sns
from tests.fakes import Clock
from tests.wire.gateway_parts import Bench, a_bench

PATH = "/v1/receipts/ses"
TEXT = {"Content-Type": "text/plain; charset=UTF-8"}  # as SNS sends its JSON


@pytest.fixture
async def sns() -> AsyncIterator[Sns]:
    async with an_sns() as sns:
        yield sns


@pytest.fixture
async def bench(tmp_path: Path, sns: Sns) -> AsyncIterator[Bench]:
    async with a_bench(tmp_path, providers=of(sns), clock=Clock(NOW)) as bench:
        yield bench


def of(sns: Sns, **changes: Any) -> dict[str, Provider]:
    return {"ses": Provider(**{"sns_certificate_hosts": (sns.host,), "sns_topics": (TOPIC,), **changes})}


async def post(bench: Bench, body: object, **headers: str) -> tuple[int, Any]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return await bench.json("POST", PATH, data=data, headers={**TEXT, **headers})


def receipts(bench: Bench) -> list[ReceiptV1]:
    found = [decode_receipt(v) for topic, _, v, _ in bench.orchestrator.published if topic == "receipts"]
    return [receipt for receipt in found if isinstance(receipt, ReceiptV1)]


def suppressions(bench: Bench) -> list[SuppressAddressV1]:
    changes = [decode_change(v) for topic, _, v, _ in bench.orchestrator.published if topic == "address-changes"]
    return [change for change in changes if isinstance(change, SuppressAddressV1)]


@pytest.mark.parametrize("version", ["1", "2"])
async def test_an_event_that_the_topic_has_signed_is_a_receipt(bench: Bench, sns: Sns, version: str) -> None:
    """WHK-08: SNS sends its JSON as text/plain."""
    event = an_ses_event("Delivery", at=NOW - 5000)
    assert await post(bench, sns.message(event, at=NOW, version=version)) == (202, {"taken": 1})
    [receipt] = receipts(bench)
    assert (receipt.delivery_id, receipt.user_id, receipt.channel) == (a_delivery(), "ann", "email")
    assert (receipt.state, receipt.at, receipt.provider_message_id) == ("delivered", NOW - 5000, "0100017c-ses-1")


async def test_a_certificate_is_fetched_once(bench: Bench, sns: Sns) -> None:
    for n in range(5):
        await post(bench, sns.message(an_ses_event("Open", at=NOW + n), at=NOW))
    assert sns.fetched == 1


async def test_a_subject_is_part_of_what_is_signed(bench: Bench, sns: Sns) -> None:
    envelope = sns.message(an_ses_event(at=NOW), at=NOW, Subject="Amazon SES Email Event Notification")
    assert (await post(bench, envelope))[0] == 202
    for changed in ({"Subject": "x"}, {"Message": "{}"}, {"MessageId": "x"}, {"Signature": "AAAA"}, {"Signature": "é"}):
        status, problem = await post(bench, envelope | changed)
        assert (status, problem["code"]) == (401, "signature_invalid")
    del envelope["Subject"]
    assert (await post(bench, envelope))[0] == 401


async def test_a_notification_without_tags_is_known_by_its_header(bench: Bench, sns: Sns) -> None:
    """Feedback of an identity has no tags, and a mail may have come to SES by SMTP."""
    event = an_ses_event("Delivery", at=NOW)
    event["notificationType"] = event.pop("eventType")
    event["mail"] |= {"tags": {}, "headers": [{"name": "x-notify-reference", "value": a_reference()}]}
    assert await post(bench, sns.message(event, at=NOW)) == (202, {"taken": 1})


@pytest.mark.parametrize(
    ("bounce", "permanent", "reason"),
    [
        (("Permanent", "General", "5.1.1"), True, "bounce"),
        (("Permanent", "NoEmail", "5.1.1"), True, "bounce"),
        (("Permanent", "General", ""), True, "bounce"),
        (("Permanent", "OnAccountSuppressionList", ""), True, "bounce"),
        (("Permanent", "General", "5.7.1"), False, None),
        (("Permanent", "General", "5.2.2"), False, "mailbox_full"),
        (("Transient", "MailboxFull", "5.2.2"), False, "mailbox_full"),
        (("Transient", "ContentRejected", "5.6.1"), False, None),
        (("Transient", "General", "5.1.1"), False, None),
        (("Undetermined", "Undetermined", ""), False, None),
    ],
)
async def test_only_a_mailbox_that_is_not_there_is_held_for_good(
    bench: Bench, sns: Sns, bounce: tuple[str, str, str], permanent: bool, reason: str | None
) -> None:
    """EML-07"""
    await post(bench, sns.message(a_bounce(*bounce, at=NOW), at=NOW))
    [receipt] = receipts(bench)
    assert (receipt.state, receipt.permanent) == ("bounced", permanent)
    assert [(s.reason, s.until) for s in suppressions(bench)] == (
        [] if reason is None else [(reason, NOW + DAY if reason == "mailbox_full" else None)]
    )


async def test_a_delayed_mail_is_no_bounce(bench: Bench, sns: Sns) -> None:
    """EML-05"""
    delay = an_ses_event("DeliveryDelay", at=NOW, delayType="TransientCommunicationFailure")
    await post(bench, sns.message(delay, at=NOW))
    assert [(r.state, r.detail) for r in receipts(bench)] == [("delayed", "TransientCommunicationFailure")]
    assert suppressions(bench) == []


@pytest.mark.parametrize(
    ("fields", "state", "held"),
    [
        ({"complaintFeedbackType": "abuse"}, "complained", True),
        ({"complaintFeedbackType": "not-spam"}, "read", False),
        ({"complaintSubType": "OnAccountSuppressionList"}, "failed", True),
    ],
)
async def test_a_complaint_is_held_against_the_address(
    bench: Bench, sns: Sns, fields: dict[str, str], state: str, held: bool
) -> None:
    complaint = an_ses_event("Complaint", at=NOW, complainedRecipients=[{"emailAddress": f"Ann <{MAILBOX}>"}], **fields)
    await post(bench, sns.message(complaint, at=NOW))
    assert [r.state for r in receipts(bench)] == [state]
    assert [s.reason for s in suppressions(bench)] == (["complaint"] if held else [])


@pytest.mark.parametrize(
    ("kind", "state"),
    [("Send", "sent"), ("Reject", "failed"), ("Open", "read"), ("Click", "read"), ("Rendering Failure", "failed")],
)
async def test_every_kind_of_event_has_its_state(bench: Bench, sns: Sns, kind: str, state: str) -> None:
    assert (await post(bench, sns.message(an_ses_event(kind, at=NOW), at=NOW)))[0] == 202
    assert [r.state for r in receipts(bench)] == [state]


@pytest.mark.parametrize(
    "message",
    [
        "Successfully validated SNS topic for Amazon SES event publishing.",
        {"notificationType": "AmazonSnsSubscriptionSucceeded", "message": "You have successfully subscribed"},
        {"eventType": "Subscription", "mail": {}},
        "",
        [],
        7,
    ],
)
async def test_a_test_message_is_taken_and_changes_nothing(bench: Bench, sns: Sns, message: object) -> None:
    """WHK-08: what SES sends to try a topic out is no event."""
    text = message if isinstance(message, str) else json.dumps(message)
    assert await post(bench, sns.message(text, at=NOW)) == (202, {"ignored": 1})
    assert bench.orchestrator.published == []


async def test_an_event_that_cannot_be_understood_is_kept_and_answered(bench: Bench, sns: Sns) -> None:
    """WHK-01"""
    broken = an_ses_event("Bounce", at=NOW, bounceType="Permanent", bouncedRecipients=[])
    timeless = an_ses_event("Delivery", at=NOW) | {"delivery": {"timestamp": "soon"}}
    nested = '{"eventType":"Bounce","mail":' + "[" * 100 + "]" * 100 + "}"
    for message in (broken, timeless, nested):
        assert await post(bench, sns.message(message, at=NOW)) == (202, {"quarantined": 1})
    letters = [value for topic, _, value, _ in bench.orchestrator.published if topic == "dead-letters"]
    assert letters == [json.dumps(broken).encode(), json.dumps(timeless).encode(), nested.encode()]


@pytest.mark.parametrize(("age", "status"), [(-300, 202), (-301, 401), (3900, 202), (3901, 401)])
async def test_a_message_may_be_as_old_as_sns_retries_and_not_older(
    bench: Bench, sns: Sns, age: int, status: int
) -> None:
    """WHK-06: its stamp is that of publication, the same on every retry for 3,600 s; then 300 s more."""
    assert (await post(bench, sns.message(an_ses_event(at=NOW), at=NOW - age * 1000)))[0] == status


async def test_a_message_with_a_broken_stamp_is_refused(bench: Bench, sns: Sns) -> None:
    for stamp in ("NaN", "", "2026-09-21", "1790000000", "2026-09-21T14:13:20"):
        status, problem = await post(bench, sns.message(an_ses_event(at=NOW), at=NOW, Timestamp=stamp))
        assert (status, problem["code"]) == (401, "signature_invalid")


async def test_a_subscription_is_confirmed_for_topics_that_are_named(bench: Bench, sns: Sns) -> None:
    more = {"kind": "SubscriptionConfirmation", "Token": "t-1", "SubscribeURL": f"{sns.url}/?Token=t-1"}
    assert (await post(bench, sns.message("You have chosen to subscribe", at=NOW, **more)))[0] == 202
    assert sns.confirmed == ["t-1"]
    other = more | {"TopicArn": "arn:aws:sns:eu-west-1:666:theirs"}
    assert (await post(bench, sns.message("You have chosen to subscribe", at=NOW, **other)))[0] == 401
    elsewhere = more | {"SubscribeURL": "http://169.254.169.254/?Token=t-1"}
    assert (await post(bench, sns.message("You have chosen to subscribe", at=NOW, **elsewhere)))[0] == 400
    assert sns.confirmed == ["t-1"]


async def test_topics_may_be_globs_and_unsubscribing_changes_nothing(tmp_path: Path, sns: Sns) -> None:
    async with a_bench(
        tmp_path, providers=of(sns, sns_topics=("arn:aws:sns:*:123456789012:*",)), clock=Clock(NOW)
    ) as b:
        assert (await post(b, sns.message(an_ses_event(at=NOW), at=NOW)))[0] == 202


async def test_a_host_that_somebody_has_chosen_needs_no_topic_to_be_named(tmp_path: Path, sns: Sns) -> None:
    async with a_bench(tmp_path, providers=of(sns, sns_topics=()), clock=Clock(NOW)) as bench:
        assert (await post(bench, sns.message(an_ses_event(at=NOW), at=NOW)))[0] == 202


async def test_a_certificate_from_elsewhere_is_never_fetched(tmp_path: Path, sns: Sns) -> None:
    async with a_bench(tmp_path, providers=of(sns, sns_certificate_hosts=()), clock=Clock(NOW)) as bench:
        status, problem = await post(bench, sns.message(an_ses_event(at=NOW), at=NOW))
        assert (status, problem["code"]) == (401, "signature_invalid")
    assert sns.fetched == 0


async def test_a_certificate_that_cannot_be_had_now_is_a_503(bench: Bench, sns: Sns) -> None:
    sns.down = True
    status, problem = await post(bench, sns.message(an_ses_event(at=NOW), at=NOW))
    assert (status, problem["code"]) == (503, "unavailable")
    sns.down = False
    assert (await post(bench, sns.message(an_ses_event(at=NOW), at=NOW)))[0] == 202


@pytest.mark.parametrize(
    ("url", "trusted"),
    [
        ("https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0a1b.pem", True),
        ("https://sns.cn-north-1.amazonaws.com.cn/SimpleNotificationService-0a1b.pem", True),
        ("http://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0a1b.pem", False),
        ("https://sns.eu-west-1.amazonaws.com.evil.example/SimpleNotificationService-0a1b.pem", False),
        ("https://evil.example/sns.eu-west-1.amazonaws.com/SimpleNotificationService-0a1b.pem", False),
        ("https://sns.eu-west-1.amazonaws.com@evil.example/SimpleNotificationService-0a1b.pem", False),
        ("https://bucket.s3.amazonaws.com/SimpleNotificationService-0a1b.pem", False),
        ("https://sns.eu-west-1.amazonaws.com:8443/SimpleNotificationService-0a1b.pem", False),
        ("https://sns.eu-west-1.amazonaws.com/other.pem", False),
        ("https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0a1b.pem/../x.pem", False),
        ("https://sns.eu-west-1.amazonaws.com:99999/x.pem", False),
        ("https://[::1", False),
        ("", False),
        ("http://sns.test:9999/anything.pem", True),
        ("https://sns.other/anything.pem", True),
        ("https://sns.other:8443/anything.pem", True),
        ("https://user@sns.other/anything.pem", False),
        ("http://user@sns.test:9999/anything.pem", False),
        ("http://sns.test:9998/anything.pem", False),
        ("file://sns.test:9999/etc/passwd", False),
    ],
)
def test_certificates_are_believed_of_amazon_and_of_chosen_hosts_alone(url: str, trusted: bool) -> None:
    assert sns_module.is_certificate_url(url, ("sns.test:9999", "sns.other")) is trusted


def test_from_amazon_itself_only_named_topics_are_taken() -> None:
    """Anybody may own a topic there."""
    own = {
        "Type": "Notification",
        "MessageId": "m",
        "TopicArn": TOPIC,
        "Message": "",
        "Timestamp": "2026-09-21T14:13:20Z",
    }
    signed = {"SignatureVersion": "2", "Signature": "AAAA"}
    url = {"SigningCertURL": "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0a1b.pem"}
    envelope = sns_module.envelope_of(json.dumps(own | signed | url).encode())
    assert isinstance(envelope, sns_module.Envelope)
    assert sns_module.why_not_trusted(envelope, topics=(TOPIC,), hosts=(), now=NOW) is None
    assert sns_module.why_not_trusted(envelope, topics=(), hosts=("sns.test",), now=NOW) is not None
    assert sns_module.why_not_trusted(envelope, topics=(TOPIC,), hosts=(), now=NOW + 2 * HOUR) is not None


async def test_raw_delivery_is_refused_since_it_is_not_signed(bench: Bench) -> None:
    raw = an_ses_event(at=NOW)
    status, problem = await post(bench, raw, **{"x-amz-sns-rawdelivery": "true"})
    assert (status, problem["code"]) == (401, "signature_invalid")


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"[]", b"x", b"MessageSid=SM1", b'{"Type":"Notification"}', b"[" * 100_000, b"\xff\xfe"]
)
async def test_what_is_no_message_of_sns_is_a_4xx_with_a_plain_reason(bench: Bench, body: bytes) -> None:
    """WHK-10"""
    status, problem = await post(bench, body)
    assert (status, problem["code"]) == (400, "unknown_callback")
    assert problem["detail"] == "the body is no message of Amazon SNS"


async def test_an_event_of_another_environment_changes_nothing(bench: Bench, sns: Sns) -> None:
    """WHK-10"""
    bounce = a_bounce("Permanent", "General", "5.1.1", at=NOW)
    bounce["mail"]["tags"]["notify_reference"] = [a_reference(secret="another environment's secret, 32 b")]
    assert await post(bench, sns.message(bounce, at=NOW)) == (202, {"unknown": 1})
    assert bench.orchestrator.published == []


async def test_a_copy_under_another_message_id_is_the_same_event(bench: Bench, sns: Sns) -> None:
    """WHK-02: SNS may bring one event several times, and by two subscriptions."""
    event = an_ses_event("Delivery", at=NOW)
    assert (await post(bench, sns.message(event, at=NOW)))[1] == {"taken": 1}
    assert (await post(bench, sns.message(event, at=NOW, MessageId="another")))[1] == {"repeated": 1}
