"""Amazon SNS: the envelope in which SES's events come, and who has signed it.

Amazon SNS Developer Guide, "Verifying the signatures of Amazon SNS messages" and "Parsing Amazon SNS message formats".
The signature is over values, so the envelope is read before it; nothing inside `Message` is until it holds. Its
`Timestamp` is when the message was published, the same on every retry, and SNS retries for at most 3,600 s ("Amazon
SNS message delivery retries"): so much older it may be than a stamp that is made anew for every request.
"""

import base64
import binascii
import re
from collections.abc import Collection
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA1, SHA256
from cryptography.x509 import Certificate, load_pem_x509_certificate

from notify_streams.domain.stamps import TOLERANCE_S, why_stale

_RETRIED_S = 3600
# SHA-1 is what version 1 has; a topic's owner chooses version 2 ("Configuring the message signature version").
_HASHES = {"1": SHA1, "2": SHA256}
_AMAZON = re.compile(r"sns\.[a-z0-9-]{3,}\.amazonaws\.com(\.cn)?")
_CERTIFICATE = re.compile(r"/SimpleNotificationService-[A-Za-z0-9]+\.pem")
_CONFIRMED = ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type")
_SIGNED = {
    "Notification": ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"),
    "SubscriptionConfirmation": _CONFIRMED,
    "UnsubscribeConfirmation": _CONFIRMED,
}


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a topic."""

    Type: str
    MessageId: str
    TopicArn: str
    Message: str
    Timestamp: str
    SignatureVersion: str
    Signature: str
    SigningCertURL: str
    Subject: str | None = None
    Token: str | None = None
    SubscribeURL: str | None = None


def envelope_of(body: bytes) -> Envelope | str:
    """The message, or why it is none."""
    try:
        envelope = _decode(body)
    except (msgspec.DecodeError, RecursionError):
        return "the body is no message of Amazon SNS"
    if envelope.Type not in _SIGNED:
        return "the message is of no type that Amazon SNS knows"
    return envelope


def why_not_trusted(envelope: Envelope, *, topics: Collection[str], hosts: Collection[str], now: int) -> str | None:
    """What speaks against it before its certificate is looked at; None when that decides. `now` in ms.

    Anybody may own a topic at Amazon and sign with its certificates, so from there only `topics` (globs) are taken.
    `hosts` are others whose certificates somebody has chosen to trust: from these every topic is, where none is named.
    """
    if not is_certificate_url(envelope.SigningCertURL, hosts):
        return "the signing certificate is not at a host that is trusted"
    chosen = _chosen(envelope.SigningCertURL, hosts)
    if not any(fnmatchcase(envelope.TopicArn, topic) for topic in topics) and not (chosen and not topics):
        return "the topic is none of sns_topics"
    try:
        published = datetime.fromisoformat(envelope.Timestamp)
    except ValueError:
        return "the timestamp is none"
    if published.tzinfo is None:
        return "the timestamp has no zone"
    stamp = str(max(0, int(published.timestamp())))
    return why_stale(stamp, now, before_s=_RETRIED_S + TOLERANCE_S)


def why_forged(envelope: Envelope, certificate: Certificate, now: int) -> str | None:
    """Whether this certificate's owner has signed it."""
    at = datetime.fromtimestamp(now / 1000, UTC)
    if not certificate.not_valid_before_utc <= at <= certificate.not_valid_after_utc:
        return "the signing certificate is not in force"
    key, made_with = certificate.public_key(), _HASHES.get(envelope.SignatureVersion)
    if not isinstance(key, RSAPublicKey) or made_with is None:
        return "the signature is of no kind that Amazon SNS makes"
    try:
        key.verify(base64.b64decode(envelope.Signature, validate=True), _signed(envelope), PKCS1v15(), made_with())
    except (InvalidSignature, binascii.Error, ValueError):
        return "the signature is not that of the message"
    return None


def certificate_of(pem: bytes) -> Certificate | None:
    """None for what is none."""
    try:
        return load_pem_x509_certificate(pem)
    except ValueError:
        return None


def is_certificate_url(url: str, hosts: Collection[str]) -> bool:
    """Whether a certificate there may be believed."""
    if _chosen(url, hosts):
        return True
    parts = _https(url)
    return parts is not None and _CERTIFICATE.fullmatch(parts[1]) is not None and url.endswith(parts[1])  # no query


def is_subscribe_url(url: str, hosts: Collection[str]) -> bool:
    """Whether it may be fetched: nothing else is, whoever has signed it."""
    return _chosen(url, hosts) or _https(url) is not None


def _https(url: str) -> tuple[str, str] | None:
    """Host and path of an address at Amazon SNS itself."""
    try:
        parts = urlsplit(url)
        plain = parts.scheme == "https" and parts.port in (None, 443) and parts.username is None
    except ValueError:
        return None
    if not plain or not _AMAZON.fullmatch(parts.hostname or ""):
        return None
    return parts.hostname or "", parts.path


def _chosen(url: str, hosts: Collection[str]) -> bool:
    """By host, or by host and port; never for what is no http(s) URL or carries credentials."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.username is not None:
        return False
    return parts.hostname in hosts or f"{parts.hostname}:{port}" in hosts


def _signed(envelope: Envelope) -> bytes:
    pairs = ((name, getattr(envelope, name)) for name in _SIGNED[envelope.Type])
    return "".join(f"{name}\n{value}\n" for name, value in pairs if value is not None).encode()


_decode = msgspec.json.Decoder(Envelope).decode
