"""Delivery reports of mail servers (RFC 3464), posted with a signature of Standard Webhooks."""

import base64
import hmac
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from email.message import EmailMessage, Message
from email.mime.base import MIMEBase
from email.mime.message import MIMEMessage
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook

from notify_streams.domain.status import fold
from notify_streams.settings import Provider, SettingsError
from schemas.addresses import SuppressAddressV1, decode_change
from schemas.receipts import ReceiptV1, decode_receipt
from schemas.words import State
from tests.builders import NOW
from tests.callbacks import A_NOTIFICATION, MAILBOX, a_delivery, a_reference
from tests.fakes import Clock
from tests.wire.gateway_parts import Bench, a_bench

PATH = "/v1/receipts/smtp"
SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()
T = NOW // 1000


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with a_bench(tmp_path, providers={"smtp": Provider(signing_key=SECRET)}, clock=Clock(NOW)) as bench:
        yield bench


def a_report(action: str, status: str, *, at: int = NOW, diagnostic: str = "", whole: bool = True) -> bytes:
    """As mail servers write them; `at` in ms."""
    report = MIMEMultipart("report", report_type="delivery-status")
    report["From"], report["To"] = "mailer-daemon@mx.example", "bounces@notify.example"
    report["Date"] = format_datetime(datetime.fromtimestamp(at / 1000, UTC))
    report.attach(MIMEText(f"Your message to {MAILBOX}: {action}."))
    of_all, of_one = Message(), Message()
    of_all["Reporting-MTA"] = "dns; mx.example"
    of_one["Final-Recipient"], of_one["Action"], of_one["Status"] = f"rfc822; {MAILBOX}", action, status
    if diagnostic:
        of_one["Diagnostic-Code"] = diagnostic
    words = MIMEBase("message", "delivery-status")
    words.set_payload([of_all, of_one])
    report.attach(words)
    original = EmailMessage()
    original["Message-ID"], original["X-Notify-Reference"] = "<m-1@notify.example>", a_reference()
    original["Subject"] = "Your order"
    if whole:
        original.set_content("Hello")
        report.attach(MIMEMessage(original))
    else:
        headers = MIMEText(original.as_string(), "rfc822-headers")
        report.attach(headers)
    return report.as_bytes()


async def post(bench: Bench, body: bytes, *, stamp: object = T, secret: str = SECRET) -> tuple[int, Any]:
    """Signed by the maintained library of the standard, which takes times alone; other stamps by hand."""
    if isinstance(stamp, int):
        signature = Webhook(secret).sign("msg_1", datetime.fromtimestamp(stamp, UTC), body.decode())
    else:
        made = hmac.digest(b"k" * 32, f"msg_1.{stamp}.".encode() + body, "sha256")
        signature = "v1," + base64.b64encode(made).decode()
    headers = {"webhook-id": "msg_1", "webhook-timestamp": str(stamp), "webhook-signature": f"v1a,x {signature}"}
    return await bench.json("POST", PATH, data=body, headers={**headers, "Content-Type": "message/rfc822"})


def receipts(bench: Bench) -> list[ReceiptV1]:
    found = [decode_receipt(v) for topic, _, v, _ in bench.orchestrator.published if topic == "receipts"]
    return [receipt for receipt in found if isinstance(receipt, ReceiptV1)]


@pytest.mark.parametrize("whole", [True, False])
async def test_delayed_and_then_delivered_is_delivered_and_no_bounce(bench: Bench, whole: bool) -> None:
    """EML-05: `Action: delayed`, `Status: 4.4.7`, later `Action: delivered`."""
    assert await post(bench, a_report("delayed", "4.4.7", at=NOW - 60_000, whole=whole)) == (202, {"taken": 1})
    assert [(r.state, r.detail) for r in receipts(bench)] == [("delayed", "4.4.7")]
    assert (await post(bench, a_report("delivered", "2.0.0", whole=whole)))[0] == 202
    assert [(r.delivery_id, r.at) for r in receipts(bench)] == [(a_delivery(), NOW - 60_000), (a_delivery(), NOW)]
    status = fold(A_NOTIFICATION, receipts(bench))
    assert status is not None
    assert (status.state, status.channels[0].deliveries[0].delivered_at) == (State.DELIVERED, NOW)
    assert {topic for topic, *_ in bench.orchestrator.published} == {"receipts"}


@pytest.mark.parametrize(
    ("status", "diagnostic", "reason"),
    [
        ("5.1.1", "smtp; 550 5.1.1 no such user", "bounce"),
        ("5.1.1", "", "bounce"),
        ("5.1.1", "smtp; 451 5.1.1 no such user", None),
        ("5.2.2", "smtp; 552 5.2.2 full", "mailbox_full"),
        ("5.7.1", "smtp; 554 5.7.1 blocked", None),
        ("5.0.0", "smtp; 550 no", None),
        ("4.4.7", "", None),
    ],
)
async def test_only_a_code_that_says_so_is_held_against_the_address(
    bench: Bench, status: str, diagnostic: str, reason: str | None
) -> None:
    """EML-07, and pinned rule 5: codes that disagree suppress nothing."""
    await post(bench, a_report("failed", status, diagnostic=diagnostic))
    assert [(r.state, r.permanent) for r in receipts(bench)] == [("bounced", reason == "bounce")]
    changes = [decode_change(v) for topic, _, v, _ in bench.orchestrator.published if topic == "address-changes"]
    assert [c.reason for c in changes if isinstance(c, SuppressAddressV1)] == ([] if reason is None else [reason])


@pytest.mark.parametrize(
    ("stamp", "status"),
    [
        (T - 300, 202),
        (T - 301, 401),
        (T + 300, 202),
        (T + 301, 401),
        ("NaN", 401),
        (f"{T}000", 401),
        ("", 401),
        (f"{T}", 202),
    ],
)
async def test_only_stamps_within_five_minutes_are_taken(bench: Bench, stamp: object, status: int) -> None:
    """WHK-06"""
    assert (await post(bench, a_report("delivered", "2.0.0"), stamp=stamp))[0] == status


async def test_another_key_or_none_is_refused(bench: Bench, tmp_path: Path) -> None:
    other = "whsec_" + base64.b64encode(b"o" * 32).decode()
    assert (await post(bench, a_report("delivered", "2.0.0"), secret=other))[0] == 401
    assert (await bench.json("POST", PATH, data=a_report("delivered", "2.0.0")))[0] == 401
    async with a_bench(tmp_path, providers={"smtp": Provider()}, clock=Clock(NOW)) as without:
        status, problem = await post(without, a_report("delivered", "2.0.0"))
        assert status == 401
        assert "signing_key" in problem["detail"]
    with pytest.raises(SettingsError, match=r"providers\.smtp\.signing_key"):
        async with a_bench(tmp_path, providers={"smtp": Provider(signing_key="whsec_short")}):
            pass


@pytest.mark.parametrize("body", [b"", b"x", b"[]", b"Subject: hello\r\n\r\nI am on holiday until Monday.\r\n"])
async def test_what_is_no_report_is_a_4xx_with_a_plain_reason(bench: Bench, body: bytes) -> None:
    """WHK-10: an automatic answer is no report either."""
    status, problem = await post(bench, body)
    assert (status, problem["detail"]) == (400, "the body is no delivery report")


async def test_a_report_that_cannot_be_understood_is_kept(bench: Bench) -> None:
    """WHK-01"""
    body = a_report("vanished", "5.1.1")
    assert await post(bench, body) == (202, {"quarantined": 1})
    assert [value for topic, _, value, _ in bench.orchestrator.published if topic == "dead-letters"] == [body]


async def test_a_report_on_a_mail_that_is_none_of_ours_changes_nothing(bench: Bench) -> None:
    """WHK-10"""
    body = a_report("failed", "5.1.1").replace(b"X-Notify-Reference", b"X-Somebody-Elses")
    assert await post(bench, body) == (202, {"unknown": 1})
    assert bench.orchestrator.published == []
