"""What the simulator's SES and SendGrid take, and what they refuse as the vendors do."""

import email
import email.policy
from typing import Any

import orjson
import pytest

from notify_streams.domain.rendered import RenderedEmail
from notify_streams.providers.mail.addresses import Sender, named
from notify_streams.providers.sendgrid import payload as sendgrid_payload
from notify_streams.providers.ses import payload as ses_payload
from notify_streams.providers.simulator.mail_requests import Invalid, mail_send, send_email
from tests.builders import NOW
from tests.mails import a_message

SENDER = Sender(named("Notify <no-reply@notify.example>"))
RENDERED = RenderedEmail("Order 123", "Hello", "<p>Hello</p>")
MESSAGE = a_message()
SES = ses_payload.body(MESSAGE, RENDERED, SENDER, configuration_set="events", now=NOW)
SENDGRID = sendgrid_payload.body(MESSAGE, RENDERED, SENDER)


def changed(body: bytes, *path: str | int, to: Any) -> bytes:
    request = orjson.loads(body)
    place = request
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return orjson.dumps(request)


def test_what_the_ses_adapter_sends_is_taken() -> None:
    sending = send_email(SES)
    assert (sending.to, sending.source) == ("ann@example.com", "no-reply@notify.example")
    assert (sending.delivery_id, sending.subject) == (MESSAGE.delivery_id, "Order 123")
    assert sending.tags == {"notify_reference": "r3f-erence_", "ses:configuration-set": "events"}
    assert sending.raw.startswith(b"From: ")


def test_what_the_sendgrid_adapter_sends_is_taken() -> None:
    sending = mail_send(SENDGRID)
    assert (sending.to, sending.delivery_id) == ("ann@example.com", MESSAGE.delivery_id)
    assert sending.tags == {"notify_reference": "r3f-erence_"}


def test_the_recipient_of_sendgrid_gets_a_mail_with_one_sender_whatever_its_name() -> None:
    """EML-12."""
    for name in ("Smith, Quentin", 'A "B", C', "C:\\D", "x@y", "Zoë; Ltd.", ""):
        sender = Sender(
            named(f'"{name.replace(chr(92), chr(92) * 2).replace(chr(34), chr(92) + chr(34))}" <a@b.example>')
        )
        sending = mail_send(sendgrid_payload.body(MESSAGE, RENDERED, sender))
        mail = email.message_from_bytes(sending.raw, policy=email.policy.default)
        assert [(a.display_name, a.addr_spec) for a in mail["From"].addresses] == [(name, "a@b.example")]
        assert [part.get_content_type() for part in mail.iter_parts()] == ["text/plain", "text/html"]
        assert mail["Message-ID"] == f"<{MESSAGE.delivery_id}@b.example>"
        assert mail["Content-Language"] == "en"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        changed(SES, "Content", "Raw", "Data", to="no base64!"),
        changed(SES, "Content", "Raw", "Data", to="SGVsbG8="),
        changed(SES, "Destination", "ToAddresses", to=[]),
        changed(SES, "Destination", "ToAddresses", to=["zoë@example.com"]),
        changed(SES, "Destination", "ToAddresses", to=["a@b", "c@d"]),
        changed(SES, "EmailTags", 0, "Value", to="with.dot"),
        changed(SES, "EmailTags", 0, "Value", to="x" * 257),
    ],
)
def test_what_ses_would_not_take_is_refused(body: bytes) -> None:
    with pytest.raises(Invalid):
        send_email(body)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"{", ""),
        (b"{}", "personalizations"),
        (changed(SENDGRID, "personalizations", to=[]), "personalizations"),
        (changed(SENDGRID, "personalizations", 0, "to", 0, "email", to="nobody"), "personalizations.0.to.0.email"),
        (
            changed(SENDGRID, "personalizations", 0, "custom_args", to={"a": "x" * 10_000}),
            "personalizations.0.custom_args",
        ),
        (changed(SENDGRID, "personalizations", 0, "custom_args", to={"a": 7}), "personalizations"),
        (changed(SENDGRID, "from", "email", to="nobody"), "from.email"),
        (changed(SENDGRID, "subject", to=""), "subject"),
        (changed(SENDGRID, "content", to=[]), "content.0.value"),
        (changed(SENDGRID, "content", 0, "value", to=""), "content.0.value"),
        (changed(SENDGRID, "content", 0, "type", to="text/calendar"), "content"),
        (changed(SENDGRID, "headers", to={"Subject": "x"}), "headers.Subject"),
        (changed(SENDGRID, "headers", to={"X-A": "x\r\nBcc: y@z"}), "headers"),
        (changed(SENDGRID, "subject", to="x\r\nBcc: y@z"), "headers"),
    ],
)
def test_what_sendgrid_would_not_take_is_refused_with_the_field(body: bytes, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        mail_send(body)
    assert refused.value.field == field
