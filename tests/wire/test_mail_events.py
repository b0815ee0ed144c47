"""What the simulator posts as SES and SendGrid, read by the gateway: two sides that share no code but the reference."""

import datetime
from collections.abc import Callable

import orjson
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1
from cryptography.hazmat.primitives.asymmetric.ec import generate_private_key as ec_key
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key as rsa_key
from cryptography.x509 import Certificate
from cryptography.x509.oid import NameOID

from notify_streams.gateway.receipts import sendgrid as sendgrid_reader
from notify_streams.gateway.receipts.readers import Ses
from notify_streams.gateway.receipts.said import Callback, Confirmation, Event, Refusal
from notify_streams.providers.sendgrid.signature import verification_key
from notify_streams.providers.ses.signature import Version
from notify_streams.providers.simulator import sendgrid_events, ses_events
from tests.builders import NOW

RSA, EC = rsa_key(65537, 2048), ec_key(SECP256R1())
AT = NOW / 1000
HOST = "127.0.0.1:8025"
SAID = [
    ("delivered", "delivered", False, None),
    ("bounced", "bounced", True, "bounce"),
    ("full", "bounced", False, "mailbox_full"),
    ("blocked", "bounced", False, None),
    ("delayed", "delayed", False, None),
    ("complained", "complained", False, "complaint"),
    ("opened", "read", False, None),
]


def callback(body: bytes, headers: dict[str, str]) -> Callback:
    lower = {name.lower(): value for name, value in headers.items()}
    return Callback(body=body, headers=lower, url="https://notify.example/v1/receipts/x", query={}, now=NOW)


def certificate() -> Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sns.simulator")])
    day, now = datetime.timedelta(days=1), datetime.datetime.fromtimestamp(AT, datetime.UTC)
    plain = x509.CertificateBuilder(name, name, RSA.public_key(), x509.random_serial_number())
    return plain.not_valid_before(now - day).not_valid_after(now + day).sign(RSA, hashes.SHA256())


class Sns:
    """Has the certificate, and takes each confirmation."""

    def __init__(self) -> None:
        self.confirmed: list[str] = []
        self.held = certificate()

    async def certificate(self, url: str) -> Certificate | None:
        return self.held

    async def confirm(self, url: str) -> bool:
        self.confirmed.append(url)
        return True


def topic(version: Version = "2") -> ses_events.Topic:
    return ses_events.Topic("arn:aws:sns:eu-west-1:1:events", RSA, f"http://{HOST}/ses/sns.pem", version)


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize(("word", "state", "permanent", "reason"), SAID)
async def test_the_gateway_reads_what_the_simulators_ses_says(
    word: ses_events.Word, state: str, permanent: bool, reason: str | None, version: Version
) -> None:
    """EML-07: full and blocked are not gone."""
    mail = ses_events.Mail("m-1", "a@notify.example", "ann@example.com", "Hello", {"notify_reference": "r"}, AT)
    record = ses_events.event(word, mail, event_id="e-1", at=AT)
    post = ses_events.notification(record, topic(version), message_id="n-1", at=AT)
    read = await Ses((), (HOST,), Sns()).read(callback(orjson.dumps(post), ses_events.headers(post)))
    assert isinstance(read, list)
    (event,) = read
    assert isinstance(event, Event)
    assert (event.state, event.permanent, event.reference, event.message_id) == (state, permanent, "r", "m-1")
    assert [word.reason for word in event.held] == ([reason] if reason else [])
    assert event.at == NOW


async def test_the_gateway_confirms_the_simulators_subscription() -> None:
    url = f"http://{HOST}/ses/confirm?Token=t"
    post = ses_events.confirmation(topic(), message_id="n-1", token="t", subscribe_url=url, at=AT)
    sns = Sns()
    body = orjson.dumps(post)
    assert await Ses((), (HOST,), sns).read(callback(body, ses_events.headers(post))) == [Confirmation(url)]
    assert sns.confirmed == [url]


async def test_a_post_of_sns_that_was_changed_is_refused() -> None:
    mail = ses_events.Mail("m-1", "a@notify.example", "ann@example.com", "Hello", {}, AT)
    record = ses_events.event("bounced", mail, event_id="e-1", at=AT)
    post = ses_events.notification(record, topic(), message_id="n-1", at=AT)
    changes: tuple[Callable[[dict[str, str]], dict[str, str]], ...] = (
        lambda p: {**p, "Message": p["Message"].replace("ann@", "ben@")},
        lambda p: {**p, "MessageId": "n-2"},
        lambda p: {**p, "SignatureVersion": "1"},
        lambda p: {**p, "SigningCertURL": "http://elsewhere.example/sns.pem"},
    )
    for change in changes:
        read = await Ses((), (HOST,), Sns()).read(callback(orjson.dumps(change(post)), ses_events.headers(post)))
        assert isinstance(read, Refusal)
        assert read.status == 401


@pytest.mark.parametrize(("word", "state", "permanent", "reason"), SAID)
def test_the_gateway_reads_what_the_simulators_sendgrid_says(
    word: sendgrid_events.Word, state: str, permanent: bool, reason: str | None
) -> None:
    """EML-07."""
    mail = sendgrid_events.Mail("x-1", "ann@example.com", {"notify_reference": "r"})
    events = [sendgrid_events.event(word, mail, event_id=f"e-{n}", at=AT) for n in range(2)]
    body, headers = sendgrid_events.post(events, EC, at=AT)
    key = sendgrid_reader.verification_key(verification_key(EC))
    read = sendgrid_reader.read(callback(body, headers), key)
    assert isinstance(read, list)
    assert len(read) == 2
    for event in read:
        assert isinstance(event, Event)
        assert (event.state, event.permanent, event.reference) == (state, permanent, "r")
        assert [held.reason for held in event.held] == ([reason] if reason else [])


def test_a_post_of_sendgrid_that_was_changed_is_refused() -> None:
    mail = sendgrid_events.Mail("x-1", "ann@example.com", {})
    body, headers = sendgrid_events.post([sendgrid_events.event("bounced", mail, event_id="e", at=AT)], EC, at=AT)
    key = sendgrid_reader.verification_key(verification_key(EC))
    for changed in (body.replace(b"ann@", b"ben@"), body.strip()):
        assert isinstance(sendgrid_reader.read(callback(changed, headers), key), Refusal)
