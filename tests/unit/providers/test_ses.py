"""SES: what is sent, how it is signed, and what its answers mean."""

import base64
import email
import email.policy

import orjson
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

from notify_streams.domain.answers import Answer, Misconfigured, Refused, TryLater
from notify_streams.domain.rendered import RenderedEmail
from notify_streams.providers.mail.addresses import Malformed, Sender, named
from notify_streams.providers.ses import codes, payload, signature
from notify_streams.providers.ses.auth import Keys, signed
from tests.builders import NOW
from tests.mails import a_message, kind_of

SUITE = Keys("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "us-east-1", "service")
SUITE_AT = 1_440_938_160_000  # 2015-08-30T12:36:00Z
SENDER = Sender(named("Notify <no-reply@notify.example>"))
RENDERED = RenderedEmail("Order 123", "Hello", "<p>Hello</p>")


@pytest.mark.parametrize(
    ("body", "headers", "names", "expected"),
    [
        (b"", {}, "host;x-amz-date", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        (
            b"Param1=value1",
            {"Content-Type": "application/x-www-form-urlencoded"},
            "content-type;host;x-amz-date",
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
        ),
    ],
)
def test_requests_are_signed_as_in_the_published_test_suite(
    body: bytes, headers: dict[str, str], names: str, expected: str
) -> None:
    """AWS Signature Version 4 test suite: post-vanilla, post-x-www-form-urlencoded."""
    found = signed("POST", "https://example.amazonaws.com/", body, headers, keys=SUITE, now=SUITE_AT)
    scope = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request"
    assert found["Authorization"] == f"{scope}, SignedHeaders={names}, Signature={expected}"
    assert found["X-Amz-Date"] == "20150830T123600Z"


def test_the_body_is_signed_over_http_too() -> None:
    one, other = (signed("POST", "http://127.0.0.1:1/x", b, {}, keys=SUITE, now=SUITE_AT) for b in (b"a", b"b"))
    assert one["Authorization"] != other["Authorization"]


def test_keys_are_shown_without_the_secret() -> None:
    assert SUITE.secret not in repr(SUITE)


def test_a_mail_goes_raw_with_our_headers_and_the_reference_as_a_tag() -> None:
    message = a_message(unsubscribe="https://notify.example/u/t0ken")
    request = orjson.loads(payload.body(message, RENDERED, SENDER, configuration_set="events", now=NOW))
    assert request["Destination"] == {"ToAddresses": ["ann@example.com"]}
    assert request["FromEmailAddress"] == "no-reply@notify.example"
    assert request["ConfigurationSetName"] == "events"
    assert request["EmailTags"] == [{"Name": "notify_reference", "Value": "r3f-erence_"}]
    raw = base64.b64decode(request["Content"]["Raw"]["Data"])
    mail = email.message_from_bytes(raw, policy=email.policy.SMTP)
    assert mail["List-Unsubscribe"] == "<https://notify.example/u/t0ken>"
    assert mail["X-Notify-Reference"] == "r3f-erence_"
    assert mail["Message-ID"] == f"<{message.delivery_id}@notify.example>"


def test_what_is_not_set_is_left_out() -> None:
    request = orjson.loads(payload.body(a_message(reference=""), RENDERED, SENDER, configuration_set="", now=NOW))
    assert set(request) == {"FromEmailAddress", "Destination", "Content"}


def test_an_address_beyond_ascii_is_refused_before_the_call() -> None:
    with pytest.raises(Malformed):
        payload.body(a_message("zoë@example.com"), RENDERED, SENDER, configuration_set="", now=NOW)
    body = payload.body(a_message("ann@bücher.example"), RENDERED, SENDER, configuration_set="", now=NOW)
    assert b"ann@xn--bcher-kva.example" in body


LATER, MEND, MESSAGE = TryLater("", about="provider"), Misconfigured(""), Refused("")


@pytest.mark.parametrize(
    ("status", "name", "words", "expected"),
    [
        (429, "TooManyRequestsException", "", LATER),
        (400, "ThrottlingException", "Maximum sending rate exceeded", LATER),
        (400, "Throttling", "Daily message quota exceeded", LATER),
        (400, "LimitExceededException", "", LATER),
        (400, "MessageRejected", "Invalid content", MESSAGE),
        (400, "MessageRejected", "Email address is not verified. The following identities ...", MEND),
        (400, "MailFromDomainNotVerifiedException", "", MEND),
        (400, "AccountSuspendedException", "", MEND),
        (400, "SendingPausedException", "", MEND),
        (404, "NotFoundException", "Configuration set <x> does not exist.", MEND),
        (400, "BadRequestException", "Missing final '@domain'", MESSAGE),
        (403, "SignatureDoesNotMatch", "", MEND),
        (403, "InvalidSignatureException", "", MEND),
        (403, "UnrecognizedClientException", "", MEND),
        (400, "RequestExpired", "", MEND),
        (403, "AccessDeniedException", "", MEND),
        (400, "RequestAbortedException", "", LATER),
        (500, "InternalFailure", "", LATER),
        (503, "ServiceUnavailable", "", LATER),
        (413, "RequestEntityTooLargeException", "", MESSAGE),
        *((status, "", "", MESSAGE) for status in (400, 404, 410, 413, 422, 501)),
        *((status, "", "", LATER) for status in (408, 425, 429, 500, 502, 503, 504)),
        *((status, "", "", MEND) for status in (401, 403)),
        (400, "SomethingNewException", "", MESSAGE),
        (503, "SomethingNewException", "", LATER),
    ],
)
def test_an_error_has_one_meaning(status: int, name: str, words: str, expected: Answer) -> None:
    """RTY-04."""
    assert kind_of(codes.meaning(status, name, words)) == expected


def test_a_detail_is_status_and_name_and_never_the_words() -> None:
    answer = codes.meaning(400, "BadRequestException", "Illegal address ann@example.com")
    assert answer == Refused("400 BadRequestException")


@pytest.mark.parametrize(
    ("headers", "body", "expected"),
    [
        ({"x-amzn-ErrorType": "MessageRejected:http://internal.amazon.com/x"}, {}, "MessageRejected"),
        ({}, {"__type": "com.amazonaws.ses#BadRequestException"}, "BadRequestException"),
        ({}, {"code": "Throttling"}, "Throttling"),
        ({}, {}, ""),
    ],
)
def test_an_errors_name_is_found_where_aws_puts_it(
    headers: dict[str, str], body: dict[str, str], expected: str
) -> None:
    assert codes.name_of(headers, body) == expected


NOTIFICATION = {
    "Type": "Notification",
    "MessageId": "m-1",
    "TopicArn": "arn:aws:sns:eu-west-1:123456789012:events",
    "Message": '{"eventType":"Bounce"}\nü',
    "Timestamp": "2026-12-01T00:00:00.000Z",
}


def test_sns_signs_the_members_of_a_notification_in_the_order_of_their_names() -> None:
    text = signature.signed_text(NOTIFICATION)
    assert text.decode().split("\n")[:2] == ["Message", '{"eventType":"Bounce"}']
    assert b"Subject" not in text
    assert b"MessageId\nm-1\nSubject\nHello\nTimestamp\n" in signature.signed_text({**NOTIFICATION, "Subject": "Hello"})


def test_sns_signs_the_link_and_the_token_of_a_confirmation() -> None:
    confirmation = {**NOTIFICATION, "Type": "SubscriptionConfirmation", "SubscribeURL": "https://x", "Token": "t"}
    names = signature.signed_text(confirmation).decode().split("\n")
    assert [n for n in names if n in confirmation] == sorted(confirmation)


@pytest.mark.parametrize(("version", "hash_"), [("1", hashes.SHA1()), ("2", hashes.SHA256())])
def test_a_signature_of_sns_is_good_for_its_version(version: signature.Version, hash_: hashes.HashAlgorithm) -> None:
    key = generate_private_key(65537, 2048)
    said = base64.b64decode(signature.signed(key, NOTIFICATION, version))
    key.public_key().verify(said, signature.signed_text(NOTIFICATION), PKCS1v15(), hash_)
