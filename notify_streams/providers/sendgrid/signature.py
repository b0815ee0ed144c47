"""How SendGrid signs its event posts: "Getting Started with the Event Webhook Security Features" (Twilio SendGrid).

ECDSA with SHA-256 over the timestamp and the raw body; the signature is DER in base64, the public key too.
"""

import base64

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

SIGNATURE = "X-Twilio-Email-Event-Webhook-Signature"
TIMESTAMP = "X-Twilio-Email-Event-Webhook-Timestamp"


def signed(key: EllipticCurvePrivateKey, timestamp: str, body: bytes) -> str:
    """The value of the signature's header. `timestamp` in seconds since the epoch."""
    return base64.b64encode(key.sign(timestamp.encode() + body, ECDSA(hashes.SHA256()))).decode()


def verification_key(key: EllipticCurvePrivateKey) -> str:
    """As the settings page of SendGrid shows it: DER in base64, without PEM's frame."""
    return base64.b64encode(key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).decode()
