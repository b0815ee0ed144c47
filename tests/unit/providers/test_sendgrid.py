"""SendGrid: what is sent, what its answers mean, and how it signs its event posts."""

import base64

import orjson
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDSA,
    SECP256R1,
    EllipticCurvePublicKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.serialization import load_der_public_key

from notify_streams.domain.answers import Answer, Misconfigured, Refused, TryLater
from notify_streams.domain.rendered import RenderedEmail
from notify_streams.providers.mail.addresses import Malformed, Sender, named
from notify_streams.providers.sendgrid import codes, payload, signature
from tests.builders import NOW
from tests.mails import a_message, kind_of

SENDER = Sender(named("Notify <no-reply@notify.example>"), named("help@notify.example"))
RENDERED = RenderedEmail("Order 123", "Hello", "<p>Hello</p>")
# "You may not overwrite": sendgrid-oai, mail/send, headers.
RESERVED = frozenset(
    {
        *("x-sg-id", "x-sg-eid", "received", "dkim-signature", "content-type", "content-transfer-encoding"),
        *("to", "from", "subject", "reply-to", "cc", "bcc"),
    }
)


def test_a_mail_has_one_recipient_our_headers_and_the_reference() -> None:
    message = a_message(unsubscribe="https://notify.example/u/t0ken")
    request = orjson.loads(payload.body(message, RENDERED, SENDER))
    assert request["personalizations"] == [
        {"to": [{"email": "ann@example.com"}], "custom_args": {"notify_reference": "r3f-erence_"}}
    ]
    assert request["from"] == {"email": "no-reply@notify.example", "name": "Notify"}
    assert request["reply_to"] == {"email": "help@notify.example"}
    assert [part["type"] for part in request["content"]] == ["text/plain", "text/html"]
    assert request["headers"]["List-Unsubscribe"] == "<https://notify.example/u/t0ken>"
    assert request["headers"]["Message-ID"] == f"<{message.delivery_id}@notify.example>"
    assert request["tracking_settings"] == {"subscription_tracking": {"enable": False}}
    assert not RESERVED & {name.lower() for name in request["headers"]}
    assert all(value.isascii() and value.isprintable() for value in request["headers"].values())


def test_parts_that_are_empty_are_left_out() -> None:
    request = orjson.loads(payload.body(a_message(reference=""), RenderedEmail("x", "", "<p></p>"), SENDER))
    assert request["content"] == [{"type": "text/html", "value": "<p></p>"}]
    assert "custom_args" not in request["personalizations"][0]


@pytest.mark.parametrize("broken", ["\r\n", "\n", "\r"])
def test_a_line_break_makes_no_header(broken: str) -> None:
    """TPL-01."""
    value = f"Ann{broken}Bcc: x@example.com"
    sender = Sender(named(f"{value} <no-reply@notify.example>"))
    request = orjson.loads(payload.body(a_message(locale=value), RenderedEmail(value, "a", "b"), sender))
    assert request["subject"] == request["from"]["name"] == "Ann Bcc: x@example.com"
    assert not any("\n" in v or "\r" in v for v in request["headers"].values())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Smith, Quentin", '"Smith, Quentin"'),
        ("a;b", '"a;b"'),
        ('A "B", C', '"A \\"B\\", C"'),
        ("Support (Billing)", "Support (Billing)"),
        ("Zoë", "Zoë"),
    ],
)
def test_a_name_makes_no_second_address(name: str, expected: str) -> None:
    """EML-12."""
    request = orjson.loads(payload.body(a_message(), RENDERED, Sender(named(f"{name} <no-reply@notify.example>"))))
    assert request["from"]["name"] == expected


def test_halves_of_characters_do_not_break_the_json() -> None:
    request = orjson.loads(payload.body(a_message(), RenderedEmail("\ud83d", "\udc69", "<p>"), SENDER))
    assert (request["subject"], request["content"][0]["value"]) == ("?", "?")


def test_what_is_no_mailbox_is_refused_before_the_call() -> None:
    with pytest.raises(Malformed):
        payload.body(a_message("ann@example.com, ben@example.com"), RENDERED, SENDER)


LATER, MEND, MESSAGE = TryLater("", about="provider"), Misconfigured(""), Refused("")


@pytest.mark.parametrize(
    ("status", "field", "expected"),
    [
        (400, "personalizations.0.to.0.email", MESSAGE),
        (400, "subject", MESSAGE),
        (400, "from.email", MEND),
        (400, "reply_to", MEND),
        (401, None, MEND),
        (403, "from", MEND),
        (413, None, MESSAGE),
        (429, None, LATER),
        *((status, None, MESSAGE) for status in (400, 404, 405, 410, 415, 422, 501)),
        *((status, None, LATER) for status in (408, 425, 500, 502, 503, 504)),
    ],
)
def test_an_error_has_one_meaning(status: int, field: str | None, expected: Answer) -> None:
    """RTY-04."""
    body = {"errors": [{"message": "ann@example.com is no address", "field": field, "help": None}]}
    assert kind_of(codes.meaning(status, body)) == expected


@pytest.mark.parametrize("body", [{}, {"errors": []}, {"errors": ["x"]}, {"errors": "x"}, {"errors": [{"field": 7}]}])
def test_an_error_without_the_usual_body_is_read_by_its_status(body: dict[str, object]) -> None:
    assert kind_of(codes.meaning(400, body)) == MESSAGE


def test_a_detail_is_status_and_field_and_never_the_words() -> None:
    body = {"errors": [{"message": "Does not contain a valid address: ann@example.com", "field": "to ann@example.com"}]}
    assert codes.meaning(400, body) == Refused("400")
    body = {"errors": [{"message": "Does not contain a valid address: ann@example.com", "field": "personalizations"}]}
    assert codes.meaning(400, body) == Refused("400 personalizations")


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(NOW // 1000 + 30)}, 30.0),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(NOW // 1000 - 30)}, 1.0),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "99999999999"}, 86_400.0),
        ({"X-RateLimit-Remaining": "7", "X-RateLimit-Reset": str(NOW // 1000 + 30)}, None),
        ({"X-RateLimit-Reset": "soon"}, None),
        ({"X-RateLimit-Reset": "9" * 400}, None),
        ({}, None),
    ],
)
def test_a_rate_limit_says_when_it_is_refreshed(headers: dict[str, str], expected: float | None) -> None:
    assert codes.wait(headers, NOW) == expected


# The example of Twilio's own library (sendgrid-python, test/unit/test_eventwebhook.py).
PUBLISHED_KEY = (
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6w"
    "EA3F+g=="
)
PUBLISHED_SIGNATURE = "MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM="
PUBLISHED_TIMESTAMP = "1600112502"
PUBLISHED_BODY = (
    b'[{"email":"hello@world.com","event":"dropped","reason":"Bounced Address",'
    b'"sg_event_id":"ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA",'
    b'"sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0",'
    b'"smtp-id":"<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>","timestamp":1600112492}]\r\n'
)


def verify(key: str, timestamp: str, body: bytes, said: str) -> None:
    """As the vendor's document has it; raises InvalidSignature."""
    public = load_der_public_key(base64.b64decode(key))
    assert isinstance(public, EllipticCurvePublicKey)
    public.verify(base64.b64decode(said), timestamp.encode() + body, ECDSA(hashes.SHA256()))


def test_we_sign_what_the_published_example_signs() -> None:
    verify(PUBLISHED_KEY, PUBLISHED_TIMESTAMP, PUBLISHED_BODY, PUBLISHED_SIGNATURE)
    key = generate_private_key(SECP256R1())
    said = signature.signed(key, PUBLISHED_TIMESTAMP, PUBLISHED_BODY)
    verify(signature.verification_key(key), PUBLISHED_TIMESTAMP, PUBLISHED_BODY, said)
    assert len(signature.verification_key(key)) == len(PUBLISHED_KEY)
    with pytest.raises(InvalidSignature):
        verify(signature.verification_key(key), PUBLISHED_TIMESTAMP, PUBLISHED_BODY.strip(), said)
