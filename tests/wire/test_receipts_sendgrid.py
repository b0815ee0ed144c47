"""SendGrid's event webhook over HTTP: signed bytes in, records on the log."""

import base64
import io
import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY

from notify_streams.domain.addresses import address_key
from notify_streams.settings import Provider, SettingsError
from schemas.addresses import SuppressAddressV1, decode_change
from schemas.receipts import ReceiptV1, decode_receipt
from tests.builders import DAY, NOW
from tests.callbacks import A_NOTIFICATION, MAILBOX, SendGrid, a_delivery, a_reference, a_sendgrid_event
from tests.fakes import Clock
from tests.wire.gateway_parts import Bench, a_bench

SENDGRID = SendGrid()
T = NOW // 1000
PATH = "/v1/receipts/sendgrid"
# The signed webhook of SendGrid's own tests (sendgrid/sendgrid-python, test_eventwebhook).
PUBLISHED_KEY = (
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc"
    "6wEA3F+g=="
)
PUBLISHED_SIGNATURE = "MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM="
PUBLISHED = (
    b'[{"email":"hello@world.com","event":"dropped","reason":"Bounced Address",'
    b'"sg_event_id":"ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA",'
    b'"sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0",'
    b'"smtp-id":"<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>","timestamp":1600112492}]\r\n'
)


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW + 500)


@pytest.fixture
async def bench(tmp_path: Path, clock: Clock) -> AsyncIterator[Bench]:
    async with a_bench(tmp_path, providers={"sendgrid": Provider(verification_key=SENDGRID.key)}, clock=clock) as bench:
        yield bench


async def post(
    bench: Bench, events: object, *, stamp: object = T, headers: dict[str, str] | None = None
) -> tuple[int, Any]:
    body = events if isinstance(events, bytes) else json.dumps(events).encode()
    signed = SENDGRID.headers(body, stamp) | (headers or {})
    return await bench.json("POST", PATH, data=body, headers=signed)


def receipts(bench: Bench) -> list[ReceiptV1]:
    found = [decode_receipt(v) for topic, _, v, _ in bench.orchestrator.published if topic == "receipts"]
    return [receipt for receipt in found if isinstance(receipt, ReceiptV1)]


def suppressions(bench: Bench) -> list[SuppressAddressV1]:
    changes = [decode_change(v) for topic, _, v, _ in bench.orchestrator.published if topic == "address-changes"]
    return [change for change in changes if isinstance(change, SuppressAddressV1)]


def letters(bench: Bench) -> list[bytes]:
    return [value for topic, _, value, _ in bench.orchestrator.published if topic == "dead-letters"]


async def test_a_signed_event_is_a_receipt_on_the_log_before_the_2xx(bench: Bench) -> None:
    status, counts = await post(bench, [a_sendgrid_event(timestamp=T - 10)])
    assert (status, counts) == (202, {"taken": 1})
    [(topic, key, _, _)] = bench.orchestrator.published
    assert (topic, key) == ("receipts", b"ann")
    [receipt] = receipts(bench)
    assert (receipt.delivery_id, receipt.notification_id) == (a_delivery(), A_NOTIFICATION)
    assert (receipt.state, receipt.at, receipt.received_at) == ("delivered", (T - 10) * 1000, NOW + 500)
    assert receipt.provider_message_id == "m-1"
    assert bench.settled.ids == [(a_delivery(), NOW + 500, "m-1")]


async def test_the_vendors_own_published_request_is_accepted(tmp_path: Path) -> None:
    """Its message is none of ours: counted, and its address is not held against anybody (WHK-10)."""
    headers = {
        "X-Twilio-Email-Event-Webhook-Signature": PUBLISHED_SIGNATURE,
        "X-Twilio-Email-Event-Webhook-Timestamp": "1600112502",
    }
    for key in (PUBLISHED_KEY, f"-----BEGIN PUBLIC KEY-----\n{PUBLISHED_KEY}\n-----END PUBLIC KEY-----\n"):
        settings = {"mail": Provider(kind="sendgrid", verification_key=key)}
        async with a_bench(tmp_path, providers=settings, clock=Clock(1_600_112_502_000)) as bench:
            assert await bench.json("POST", "/v1/receipts/mail", data=PUBLISHED, headers=headers) == (
                202,
                {"unknown": 1},
            )
            status, problem = await bench.json("POST", "/v1/receipts/mail", data=PUBLISHED.strip(), headers=headers)
            assert (status, problem["code"]) == (401, "signature_invalid")
            assert bench.orchestrator.published == []


async def test_one_bad_event_harms_no_other(bench: Bench) -> None:
    """WHK-01: of a hundred, one lacks the recipient and one is a string."""
    events: list[Any] = [a_sendgrid_event(sg_event_id=f"e-{n}") for n in range(100)]
    del events[49]["email"]
    events[50] = "not an event"
    status, counts = await post(bench, events)
    assert (status, counts) == (202, {"taken": 98, "quarantined": 2})
    assert len(receipts(bench)) == 98
    assert sorted(letters(bench)) == sorted(json.dumps(event).encode() for event in events[49:51])
    [headers, _] = [dict(h) for topic, _, _, h in bench.orchestrator.published if topic == "dead-letters"]
    assert headers["notify-stage"] == b"receipts"
    assert b"email" in headers["notify-error"]
    before = list(bench.orchestrator.published)
    assert await post(bench, events) == (202, {"repeated": 100})
    assert bench.orchestrator.published == before


async def test_a_field_that_is_null_was_not_filled_in_and_a_needed_one_is_missing(bench: Bench) -> None:
    """WHK-01"""
    empty: dict[str, Any] = dict.fromkeys(
        ("type", "reason", "response", "status", "bounce_classification", "sg_machine_open")
    )
    events = [a_sendgrid_event(**empty), a_sendgrid_event(sg_event_id="other", email=None)]
    assert await post(bench, events) == (202, {"taken": 1, "quarantined": 1})
    assert letters(bench) == [json.dumps(events[1]).encode()]


async def test_without_memory_a_copy_is_the_same_receipt(bench: Bench, clock: Clock) -> None:
    """WHK-02: 46 copies over 29 h, with a restart (nothing is remembered) in between: one fact of each."""
    events = [a_sendgrid_event(timestamp=T - 10), a_sendgrid_event("open", timestamp=T - 5)]
    for copy in range(46):
        clock.now = NOW + copy * 29 * DAY // 24 // 46
        if copy == 20:
            bench.redis.kept.clear()
        bench.redis.away = copy > 40
        status, _ = await post(bench, events, stamp=clock.now // 1000)
        assert status == 202
    assert len(receipts(bench)) == 2 * (1 + 1 + 5)
    assert Counter(r.state for r in {r.receipt_id: r for r in receipts(bench)}.values()) == {"delivered": 1, "read": 1}
    assert {(r.state, r.at) for r in receipts(bench)} == {("delivered", NOW - 10_000), ("read", NOW - 5000)}


async def test_the_signature_is_over_the_bytes_as_they_came(bench: Bench) -> None:
    """WHK-04: escaped slashes, escaped letters, spaces and an odd order of keys; re-serialised it is refused."""
    reference = a_reference()
    body = (
        rb'[ {"sg_event_id" : "x", "timestamp": %d,  "url":"https:\/\/example.com\/\u00e9", "event":"delivered" ,'
        rb'"email":"ann@example.com", "notify_reference": "%b"} ]' % (T, reference.encode())
    )
    signed = SENDGRID.headers(body, T)
    status, _ = await bench.json("POST", PATH, data=body, headers=signed)
    assert status == 202
    changed = body.replace(b"delivered", b"delivereD")
    for other in (json.dumps(json.loads(body)).encode(), changed, body + b"\n", b""):
        status, problem = await bench.json("POST", PATH, data=other, headers=signed)
        assert (status, problem["code"]) == (401, "signature_invalid")
    assert len(receipts(bench)) == 1


@pytest.mark.parametrize(
    ("stamp", "status"),
    [
        (T - 300, 202),
        (T - 301, 401),
        (T + 300, 202),
        (T + 301, 401),
        ("NaN", 401),
        (T * 1000, 401),
        ("", 401),
        (f"{T}.0", 401),
        (f" {T}", 401),
        ("\u0661" * 10, 401),
        ("-1", 401),
        ("Infinity", 401),
        ("1e9", 401),
    ],
)
async def test_only_stamps_within_five_minutes_are_taken(bench: Bench, stamp: object, status: int) -> None:
    """WHK-06, both edges inclusive; all of these are signed."""
    assert (await post(bench, [a_sendgrid_event()], stamp=stamp))[0] == status
    assert len(receipts(bench)) == (status == 202)


@pytest.mark.parametrize("left_out", ["Signature", "Timestamp"])
async def test_a_request_without_stamp_or_signature_is_refused(bench: Bench, left_out: str) -> None:
    """WHK-06: missing."""
    body = json.dumps([a_sendgrid_event()]).encode()
    headers = SENDGRID.headers(body, T)
    del headers[f"X-Twilio-Email-Event-Webhook-{left_out}"]
    status, problem = await bench.json("POST", PATH, data=body, headers=headers)
    assert (status, problem["code"]) == (401, "signature_invalid")


async def test_the_twin_of_a_request_has_no_second_effect_and_a_fresh_stamp_needs_a_fresh_signature(
    bench: Bench, clock: Clock
) -> None:
    """WHK-06"""
    assert await post(bench, [a_sendgrid_event()]) == (202, {"taken": 1})
    assert await post(bench, [a_sendgrid_event()]) == (202, {"repeated": 1})
    clock.now += 400_000
    body = json.dumps([a_sendgrid_event()]).encode()
    old = SENDGRID.headers(body, T) | {"X-Twilio-Email-Event-Webhook-Timestamp": str(clock.now // 1000)}
    assert (await bench.json("POST", PATH, data=body, headers=old))[0] == 401
    assert len(receipts(bench)) == 1


@pytest.mark.parametrize("content_type", ["text/plain; charset=UTF-8", "application/x-www-form-urlencoded", "x"])
async def test_json_is_taken_whatever_it_is_called(bench: Bench, content_type: str) -> None:
    """WHK-08: JSON as text/plain."""
    status, counts = await post(bench, [a_sendgrid_event()], headers={"Content-Type": content_type})
    assert (status, counts) == (202, {"taken": 1})


async def test_a_thousand_events_of_another_environment_change_nothing(bench: Bench) -> None:
    """WHK-10: counted, answered 2xx, and no address is suppressed."""
    strangers = ["", "x", a_reference(secret="another environment's secret, 32 b"), a_reference("sms")]
    events = [
        a_sendgrid_event("bounce", type="bounce", sg_event_id=f"e-{n}", notify_reference=strangers[n % 4])
        for n in range(1000)
    ]
    assert await post(bench, events) == (202, {"unknown": 1000})
    assert bench.orchestrator.published == []
    assert bench.settled.ids == []


@pytest.mark.parametrize(
    "body", [b"{}", b"[", b"", b"null", b'"x"', b"MessageSid=SM1&MessageStatus=sent", b"[" * 90_000]
)
async def test_what_is_no_array_of_events_is_refused_with_a_plain_reason(bench: Bench, body: bytes) -> None:
    """WHK-10: the wrong adapter is a 4xx, never a 500, even where somebody has signed it."""
    status, problem = await post(bench, body)
    assert (status, problem["code"]) == (400, "unknown_callback")
    assert problem["detail"]


@pytest.mark.parametrize(
    ("event", "fields", "reason"),
    [
        ("bounce", {"type": "bounce", "status": "5.1.1", "reason": "550 5.1.1 no such user"}, "bounce"),
        ("bounce", {"type": "bounce", "status": "5.0.0", "reason": "500 unknown recipient"}, "bounce"),
        ("bounce", {"type": "bounce", "bounce_classification": "Invalid Address"}, "bounce"),
        ("bounce", {"type": "bounce", "status": "5.0.0", "reason": "554 5.7.1 blocked"}, None),
        ("bounce", {"type": "bounce", "status": "5.7.1", "bounce_classification": "Invalid Address"}, None),
        ("bounce", {"type": "bounce", "bounce_classification": "Reputation"}, None),
        ("bounce", {"type": "blocked", "status": "5.1.1"}, None),
        ("bounce", {"type": "bounce", "status": "5.2.2", "reason": "552 5.2.2 full"}, "mailbox_full"),
        ("bounce", {"type": "bounce", "status": "4.4.7"}, None),
        ("dropped", {"reason": "Bounced Address"}, "bounce"),
        ("dropped", {"reason": "Spam Reporting Address"}, "complaint"),
        ("dropped", {"reason": "Unsubscribed Address"}, "opt_out"),
        ("dropped", {"reason": "Spam Content (if Spam Checker app enabled)"}, None),
        ("spamreport", {}, "complaint"),
        ("unsubscribe", {}, "opt_out"),
        ("deferred", {"response": "451 4.7.1 greylisted"}, None),
        ("open", {}, None),
    ],
)
async def test_only_what_judges_the_address_is_held_against_it(
    bench: Bench, event: str, fields: dict[str, str], reason: str | None
) -> None:
    """EML-07: a full mailbox rests for a while, a block says nothing against the address."""
    await post(bench, [a_sendgrid_event(event, timestamp=T, **fields)])
    changes = suppressions(bench)
    assert [change.reason for change in changes] == ([] if reason is None else [reason])
    for change in changes:
        assert change.until == (NOW + DAY if reason == "mailbox_full" else None)
        assert (change.provider, change.delivery_id) == ("sendgrid", a_delivery())
    keys = [key for topic, key, _, _ in bench.orchestrator.published if topic == "address-changes"]
    assert set(keys) <= {address_key("email", MAILBOX).encode()}
    [receipt] = receipts(bench)
    assert receipt.permanent is (event == "bounce" and reason == "bounce")


async def test_a_campaign_into_full_mailboxes_and_blocks_costs_one_address(bench: Bench) -> None:
    """EML-07: 1,000 full, 1,000 blocked, one that does not exist."""

    def bounces(status: str, name: str, count: int) -> list[Any]:
        of = {"type": "bounce", "status": status}
        return [
            a_sendgrid_event("bounce", email=f"{name}{n}@example.com", sg_event_id=f"{name}{n}", **of)
            for n in range(count)
        ]

    before = {state: _counted(state) for state in ("bounced", "blocked")}
    events = [*bounces("5.2.2", "full", 1000), *bounces("5.7.1", "blocked", 1000), *bounces("5.1.1", "gone", 1)]
    for at in range(0, len(events), 1000):
        assert (await post(bench, events[at : at + 1000]))[0] == 202
    said = {state: _counted(state) - before[state] for state in before}
    assert said == {"bounced": 1001, "blocked": 1000}
    held = Counter((change.reason, change.until is None) for change in suppressions(bench))
    assert held == {("mailbox_full", False): 1000, ("bounce", True): 1}


def _counted(state: str) -> float:
    """What an alert on the sender's reputation looks at."""
    labels = {"provider": "sendgrid", "outcome": "taken", "state": state}
    return REGISTRY.get_sample_value("notify_receipts_total", labels) or 0.0


async def test_what_loads_images_ahead_of_the_reader_has_not_read(bench: Bench) -> None:
    status, counts = await post(bench, [a_sendgrid_event("open", sg_machine_open=True)])
    assert (status, counts) == (202, {"ignored": 1})
    assert receipts(bench) == []


async def test_no_event_is_of_the_future(bench: Bench) -> None:
    """A bounce of the year 2100 would win for ever."""
    await post(bench, [a_sendgrid_event("bounce", timestamp=4_102_444_800)])
    assert [r.at for r in receipts(bench)] == [NOW + 500]


async def test_a_broker_that_is_away_is_a_503_and_the_repeat_is_taken(bench: Bench) -> None:
    bench.orchestrator.away = True
    status, problem = await post(bench, [a_sendgrid_event()])
    assert (status, problem["code"]) == (503, "unavailable")
    bench.orchestrator.away = False
    assert await post(bench, [a_sendgrid_event()]) == (202, {"taken": 1})


async def test_delivery_keys_that_are_away_cost_nothing(bench: Bench) -> None:
    bench.settled.away = True
    assert await post(bench, [a_sendgrid_event()]) == (202, {"taken": 1})


async def test_without_a_key_nothing_is_taken(tmp_path: Path) -> None:
    async with a_bench(tmp_path, providers={"sendgrid": Provider()}) as bench:
        status, problem = await post(bench, [a_sendgrid_event()])
        assert (status, problem["code"]) == (401, "signature_invalid")
        assert "verification_key" in problem["detail"]


@pytest.mark.parametrize("key", ["x", "AAAA", base64.b64encode(b"\x30\x03\x02\x01\x01").decode()])
async def test_a_key_that_is_none_is_refused_at_start(tmp_path: Path, key: str) -> None:
    with pytest.raises(SettingsError, match=r"providers\.mail\.verification_key"):
        async with a_bench(tmp_path, providers={"mail": Provider(kind="sendgrid", verification_key=key)}):
            pass


@pytest.mark.parametrize("name", ["smtp", "nobody", "fcm"])
async def test_who_sends_no_receipts_has_no_address_for_them(bench: Bench, name: str) -> None:
    status, problem = await bench.json("POST", f"/v1/receipts/{name}", data=b"[]")
    assert (status, problem["code"]) == (404, "not_found")


async def test_a_body_has_a_limit_that_holds_a_vendors_largest_batch(bench: Bench) -> None:
    padding = [a_sendgrid_event(sg_event_id=f"e-{n}", useragent="x" * 3000) for n in range(300)]
    assert await post(bench, padding) == (202, {"taken": 300})
    body = b"[" + b" " * 3_000_000 + b"]"
    status, problem = await bench.json("POST", PATH, data=io.BytesIO(body), headers=SENDGRID.headers(body, T))
    assert (status, problem["code"]) == (413, "too_large")
