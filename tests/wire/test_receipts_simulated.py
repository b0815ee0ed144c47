"""What the simulators of SendGrid and SES post is what the gateway takes: both sides read the vendors' documents."""

import json
from pathlib import Path

import pytest

from notify_streams.domain.references import TAG
from notify_streams.providers.simulator import sendgrid_events, ses_events
from notify_streams.settings import Provider
from schemas.addresses import SuppressAddressV1, decode_change
from schemas.receipts import ReceiptV1, decode_receipt
from tests.builders import NOW
from tests.callbacks import MAILBOX, TOPIC, SendGrid, a_reference, an_sns
from tests.fakes import Clock
from tests.wire.gateway_parts import Bench, a_bench

SAID = [
    ("delivered", "delivered", None),
    ("bounced", "bounced", "bounce"),
    ("full", "bounced", "mailbox_full"),
    ("blocked", "bounced", None),
    ("delayed", "delayed", None),
    ("complained", "complained", "complaint"),
    ("opened", "read", None),
]


def heard(bench: Bench) -> tuple[list[str], list[str]]:
    """States of receipts, and why addresses are held."""
    receipts, changes = [], []
    for topic, _, value, _ in bench.orchestrator.published:
        if topic == "receipts":
            receipts.append(decode_receipt(value))
        else:
            changes.append(decode_change(value))
    states: list[str] = [receipt.state for receipt in receipts if isinstance(receipt, ReceiptV1)]
    return states, [change.reason for change in changes if isinstance(change, SuppressAddressV1)]


@pytest.mark.parametrize(("word", "state", "reason"), SAID)
async def test_sendgrid(tmp_path: Path, word: sendgrid_events.Word, state: str, reason: str | None) -> None:
    account, mail = SendGrid(), sendgrid_events.Mail("m-1", MAILBOX, {TAG: a_reference()})
    providers = {"sendgrid": Provider(verification_key=account.key)}
    async with a_bench(tmp_path, providers=providers, clock=Clock(NOW)) as bench:
        event = sendgrid_events.event(word, mail, event_id="e-1", at=NOW / 1000)
        body, headers = sendgrid_events.post([event], account.private, at=NOW / 1000)
        status, counts = await bench.json("POST", "/v1/receipts/sendgrid", data=body, headers=headers)
        assert (status, counts) == (202, {"taken": 1})
        assert heard(bench) == ([state], [] if reason is None else [reason])


@pytest.mark.parametrize(("word", "state", "reason"), SAID)
async def test_ses(tmp_path: Path, word: ses_events.Word, state: str, reason: str | None) -> None:
    mail = ses_events.Mail("m-1", "no-reply@notify.example", MAILBOX, "Hello", {TAG: a_reference()}, NOW / 1000)
    async with an_sns() as sns:
        topic = ses_events.Topic(TOPIC, sns.private, f"{sns.url}/SimpleNotificationService-0001.pem")
        providers = {"ses": Provider(sns_certificate_hosts=(sns.host.partition(":")[0],))}
        async with a_bench(tmp_path, providers=providers, clock=Clock(NOW)) as bench:
            record = ses_events.event(word, mail, event_id="e-1", at=NOW / 1000)
            message = ses_events.notification(record, topic, message_id="x", at=NOW / 1000)
            body, headers = json.dumps(message).encode(), ses_events.headers(message)
            status, counts = await bench.json("POST", "/v1/receipts/ses", data=body, headers=headers)
            assert (status, counts) == (202, {"taken": 1})
            assert heard(bench) == ([state], [] if reason is None else [reason])
