"""The simulator's side of SES and SendGrid: signatures of requests, and what is posted later."""

import base64

import orjson
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1
from cryptography.hazmat.primitives.asymmetric.ec import generate_private_key as ec_key
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key as rsa_key

from notify_streams.providers.sendgrid.signature import SIGNATURE, TIMESTAMP
from notify_streams.providers.ses.auth import Keys, signed
from notify_streams.providers.ses.signature import Version, signed_text
from notify_streams.providers.simulator import sendgrid_events, ses_events
from notify_streams.providers.simulator.sigv4 import why_refused

SECRETS = {"AKIDEXAMPLE": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
AT = 1_440_938_160  # 2015-08-30T12:36:00Z
SCOPE = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
POST_VANILLA = {
    "host": "example.amazonaws.com",
    "x-amz-date": "20150830T123600Z",
    "authorization": SCOPE
    + "SignedHeaders=host;x-amz-date, Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
}


def refused(headers: dict[str, str], body: bytes = b"", *, now: float = AT) -> str | None:
    return why_refused("POST", "/", headers, body, secrets=SECRETS, now=now)


def test_the_published_example_is_taken() -> None:
    """AWS Signature Version 4 test suite: post-vanilla."""
    assert refused(POST_VANILLA) is None
    assert refused(POST_VANILLA, now=AT + 299) is None


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"host": "other.amazonaws.com"}, "InvalidSignatureException"),
        ({"x-amz-date": "20150830T123601Z"}, "InvalidSignatureException"),
        ({"x-amz-date": "20150831T123600Z"}, "IncompleteSignature"),
        ({"x-amz-date": "20150830Tnoon"}, "IncompleteSignature"),
        ({"authorization": POST_VANILLA["authorization"].replace("AKID", "AKIX")}, "UnrecognizedClientException"),
        ({"authorization": POST_VANILLA["authorization"].replace("host;", "")}, "IncompleteSignature"),
        ({"authorization": "Bearer x"}, "IncompleteSignature"),
    ],
)
def test_what_was_changed_after_signing_is_refused(changes: dict[str, str], expected: str) -> None:
    assert refused({**POST_VANILLA, **changes}) == expected


def test_another_body_no_signature_and_an_old_one_are_refused() -> None:
    assert refused(POST_VANILLA, b"x") == "InvalidSignatureException"
    assert refused({"host": "x"}) == "MissingAuthenticationTokenException"
    assert refused(POST_VANILLA, now=AT + 301) == "RequestExpired"


def test_what_the_adapter_signs_is_taken() -> None:
    keys = Keys("AKIDEXAMPLE", SECRETS["AKIDEXAMPLE"], "eu-west-1")
    url = "http://127.0.0.1:8025/ses/v2/email/outbound-emails"
    headers = signed("POST", url, b'{"a":1}', {"Content-Type": "application/json"}, keys=keys, now=AT * 1000)
    seen = {"host": "127.0.0.1:8025", **{name.lower(): value for name, value in headers.items()}}
    path = "/ses/v2/email/outbound-emails"
    assert why_refused("POST", path, seen, b'{"a":1}', secrets=SECRETS, now=AT) is None
    assert why_refused("POST", path, seen, b'{"a":2}', secrets=SECRETS, now=AT) == "InvalidSignatureException"


SES_MAIL = ses_events.Mail("m-1", "no-reply@notify.example", "ann@example.com", "Hello", {"notify_reference": "r"}, AT)
RSA = rsa_key(65537, 2048)


@pytest.mark.parametrize(
    ("word", "name", "key"),
    [
        ("delivered", "Delivery", "delivery"),
        ("bounced", "Bounce", "bounce"),
        ("full", "Bounce", "bounce"),
        ("blocked", "Bounce", "bounce"),
        ("delayed", "DeliveryDelay", "deliveryDelay"),
        ("complained", "Complaint", "complaint"),
        ("opened", "Open", "open"),
    ],
)
def test_an_event_of_ses_names_the_mail_and_its_tags(word: ses_events.Word, name: str, key: str) -> None:
    record = ses_events.event(word, SES_MAIL, event_id="e-1", at=AT + 2)
    assert (record["eventType"], record["mail"]["messageId"]) == (name, "m-1")
    assert record["mail"]["tags"] == {"notify_reference": ["r"]}
    assert record[key]["timestamp"] == "2015-08-30T12:36:02.000Z"


@pytest.mark.parametrize(
    ("word", "kind", "status"),
    [("bounced", "Permanent", "5.1.1"), ("full", "Transient", "5.2.2"), ("blocked", "Transient", "5.7.1")],
)
def test_a_bounce_of_ses_is_permanent_only_where_nobody_is_there(word: ses_events.Word, kind: str, status: str) -> None:
    """EML-07."""
    bounce = ses_events.event(word, SES_MAIL, event_id="e-1", at=AT)["bounce"]
    assert (bounce["bounceType"], bounce["bouncedRecipients"][0]["status"]) == (kind, status)


@pytest.mark.parametrize(("version", "hash_"), [("1", hashes.SHA1()), ("2", hashes.SHA256())])
def test_sns_posts_are_signed(version: Version, hash_: hashes.HashAlgorithm) -> None:
    topic = ses_events.Topic("arn:aws:sns:eu-west-1:123456789012:events", RSA, "https://sns.example/cert.pem", version)
    record = ses_events.event("delivered", SES_MAIL, event_id="e-1", at=AT)
    posts = (
        ses_events.notification(record, topic, message_id="n-1", at=AT),
        ses_events.confirmation(topic, message_id="n-2", token="t", subscribe_url="https://sns.example/?t", at=AT),
    )
    for post in posts:
        assert post["SignatureVersion"] == version
        RSA.public_key().verify(base64.b64decode(post["Signature"]), signed_text(post), PKCS1v15(), hash_)
        assert ses_events.headers(post)["x-amz-sns-message-type"] == post["Type"]
    assert orjson.loads(posts[0]["Message"]) == record


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("processed", "processed"),
        ("delivered", "delivered"),
        ("bounced", "bounce"),
        ("full", "bounce"),
        ("blocked", "bounce"),
        ("delayed", "deferred"),
        ("complained", "spamreport"),
        ("opened", "open"),
    ],
)
def test_events_of_sendgrid_carry_the_custom_arguments_and_are_signed(word: sendgrid_events.Word, name: str) -> None:
    mail = sendgrid_events.Mail("x-1", "ann@example.com", {"notify_reference": "r"})
    key = ec_key(SECP256R1())
    event = sendgrid_events.event(word, mail, event_id="e-1", at=AT)
    body, headers = sendgrid_events.post([event], key, at=AT)
    key.public_key().verify(
        base64.b64decode(headers[SIGNATURE]), headers[TIMESTAMP].encode() + body, ECDSA(hashes.SHA256())
    )
    (said,) = orjson.loads(body)
    assert (said["event"], said["notify_reference"], said["timestamp"]) == (name, "r", AT)
    assert said["sg_message_id"].split(".")[0] == "x-1"


def test_a_custom_argument_cannot_pretend_to_be_an_event() -> None:
    mail = sendgrid_events.Mail("x-1", "ann@example.com", {"event": "delivered", "email": "x@y"})
    event = sendgrid_events.event("bounced", mail, event_id="e-1", at=AT)
    assert (event["event"], event["email"]) == ("bounce", "ann@example.com")
