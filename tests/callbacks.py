"""Callbacks as vendors sign them, made by the cryptography library and by nothing of ours."""

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509.oid import NameOID

from notify_streams.domain import references
from notify_streams.domain.ids import delivery_id
from notify_streams.domain.references import Reference
from schemas.words import Channel
from tests.wire.gateway_parts import SECRET

A_NOTIFICATION = "0c8f4a5e-2b1d-5a3c-9f00-aa11bb22cc33"
MAILBOX, NUMBER = "ann@example.com", "+4915112345678"
TOPIC = "arn:aws:sns:eu-west-1:123456789012:mail-events"


def a_delivery(channel: Channel = "email") -> str:
    return delivery_id(A_NOTIFICATION, channel, "home")


def a_reference(channel: Channel = "email", *, secret: str = SECRET, user_id: str = "ann") -> str:
    return references.sign(secret, Reference(a_delivery(channel), A_NOTIFICATION, channel, user_id))


@dataclass
class SendGrid:
    """An account with a signed event webhook."""

    private: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    @property
    def key(self) -> str:
        public = self.private.public_key()
        der = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        return base64.b64encode(der).decode()

    def headers(self, body: bytes, stamp: object) -> dict[str, str]:
        signature = self.private.sign(str(stamp).encode() + body, ec.ECDSA(hashes.SHA256()))
        return {
            "X-Twilio-Email-Event-Webhook-Signature": base64.b64encode(signature).decode(),
            "X-Twilio-Email-Event-Webhook-Timestamp": str(stamp),
            "Content-Type": "application/json",
        }


def a_sendgrid_event(event: str = "delivered", **fields: Any) -> dict[str, Any]:
    return {
        "email": MAILBOX,
        "timestamp": 1_790_000_000,
        "event": event,
        "sg_event_id": f"{event}-1",
        "sg_message_id": "m-1.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0",
        "notify_reference": a_reference(),
        **fields,
    }


_ORDER = {
    "Notification": ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"),
    "SubscriptionConfirmation": ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"),
}


@dataclass
class Sns:
    """A topic with a signing certificate of its own, and the server that has it and confirms subscriptions."""

    url: str = ""
    private: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048))
    confirmed: list[str] = field(default_factory=list)
    fetched: int = 0
    down: bool = False

    @property
    def host(self) -> str:
        return self.url.removeprefix("http://")

    def certificate(self) -> bytes:
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sns.test")])
        now = datetime.now(UTC)
        made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(self.private.public_key())
        made = made.serial_number(1).not_valid_before(now - timedelta(days=400)).not_valid_after(now + timedelta(400))
        return made.sign(self.private, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def message(self, message: object, *, at: int, kind: str = "Notification", version: str = "2", **more: Any) -> Any:
        """A signed envelope. `at` in ms."""
        plain = {
            "Type": kind,
            "MessageId": "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
            "TopicArn": TOPIC,
            "Message": message if isinstance(message, str) else json.dumps(message),
            "Timestamp": datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")[:-6] + "Z",
            "SignatureVersion": version,
            "SigningCertURL": f"{self.url}/SimpleNotificationService-0001.pem",
            **more,
        }
        text = "".join(f"{name}\n{plain[name]}\n" for name in _ORDER[kind] if name in plain)
        hash_ = hashes.SHA1() if version == "1" else hashes.SHA256()
        plain["Signature"] = base64.b64encode(self.private.sign(text.encode(), padding.PKCS1v15(), hash_)).decode()
        return plain


@asynccontextmanager
async def an_sns() -> AsyncIterator[Sns]:
    sns = Sns()

    async def certificate(_: web.Request) -> web.Response:
        sns.fetched += 1
        return web.Response(status=503) if sns.down else web.Response(body=sns.certificate())

    async def confirm(request: web.Request) -> web.Response:
        sns.confirmed.append(request.query["Token"])
        return web.Response(text="<ConfirmSubscriptionResponse/>")

    app = web.Application()
    app.router.add_get("/SimpleNotificationService-0001.pem", certificate)
    app.router.add_get("/", confirm)
    async with TestServer(app) as server:
        sns.url = str(server.make_url("")).rstrip("/")
        yield sns


def an_ses_event(kind: str = "Delivery", *, at: int, **what: Any) -> dict[str, Any]:
    """As event publishing has it, with our tag. `at` in ms; `what` goes into the object that is named after it."""
    when = datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
    return {
        "eventType": kind,
        "mail": {
            "timestamp": when,
            "source": "no-reply@notify.example",
            "messageId": "0100017c-ses-1",
            "destination": [MAILBOX],
            "tags": {"ses:configuration-set": ["all"], "notify_reference": [a_reference()]},
        },
        kind[0].lower() + kind[1:]: {"timestamp": when, **what},
    }


def a_bounce(kind: str, sub_kind: str, status: str, *, at: int, address: str = MAILBOX) -> dict[str, Any]:
    recipient = {"emailAddress": address, "action": "failed", "status": status, "diagnosticCode": f"smtp; 550 {status}"}
    return an_ses_event("Bounce", at=at, bounceType=kind, bounceSubType=sub_kind, bouncedRecipients=[recipient])
