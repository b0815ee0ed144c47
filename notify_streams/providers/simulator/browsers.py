"""Browsers that have subscribed, and what their push service checks (RFC 8030, RFC 8291, RFC 8292).

A browser's keys are made of its name and a secret, so that nothing is kept and a subscription outlives a restart.
"""

import base64
import hmac
import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import http_ece
import jwt
import msgspec
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551  # of P-256
_LONGEST_LIFE_S = 86_400
_LARGEST = 4096
_TOPIC = re.compile(r"[A-Za-z0-9_-]{1,32}")
_URGENCIES = frozenset({"very-low", "low", "normal", "high"})
_VAPID = re.compile(r"vapid\s+(?=.*\bt=(?P<token>[\w.-]+))(?=.*\bk=(?P<key>[\w-]+)).*", re.IGNORECASE)


class Refused(Exception):
    """What the push service says no to, and with which status."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class Browser(msgspec.Struct, frozen=True):
    """The keys behind one subscription."""

    key: ec.EllipticCurvePrivateKey
    auth: bytes

    @classmethod
    def named(cls, secret: bytes, name: str) -> "Browser":
        """Always the same for the same name."""
        number = int.from_bytes(hmac.digest(secret, b"key\0" + name.encode(), sha256), "big") % (_ORDER - 1) + 1
        auth = hmac.digest(secret, b"auth\0" + name.encode(), sha256)[:16]
        return cls(ec.derive_private_key(number, ec.SECP256R1()), auth)

    def subscription(self, endpoint: str) -> dict[str, Any]:
        """As `PushSubscription.toJSON()` gives it."""
        point = self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        return {
            "endpoint": endpoint,
            "expirationTime": None,
            "keys": {"p256dh": _text(point), "auth": _text(self.auth)},
        }

    def decrypted(self, body: bytes) -> bytes:
        """Raises Refused for what was not encrypted for it."""
        try:
            content: bytes = http_ece.decrypt(body, private_key=self.key, auth_secret=self.auth)
        except (http_ece.ECEException, ValueError) as error:
            raise Refused(400, "not encrypted for this subscription") from error
        return content


class Senders:
    """Application servers that have shown who they are; the only one that may is `key`, where one is named."""

    def __init__(self, key: str = "") -> None:
        self._only = key
        self._known: dict[str, int] = {}

    def check(self, authorization: str, origin: str, now: float) -> None:
        """RFC 8292, 2 and 4.2. `now` in seconds. Raises Refused."""
        found = _VAPID.fullmatch(authorization)
        if found is None:
            raise Refused(401, "no VAPID token")
        if self._only and found["key"] != self._only:
            raise Refused(403, "the subscription is another application server's")
        remembered = f"{found['token']} {origin}"
        ends = self._known.get(remembered)
        if ends is None:
            ends = _ends(found["token"], found["key"], origin)
            self._known = {remembered: ends} if len(self._known) > 100 else {**self._known, remembered: ends}
        if not now < ends <= now + _LONGEST_LIFE_S:
            raise Refused(403, "the VAPID token has ended, or ends too late")


def check_headers(headers: Mapping[str, str], size: int) -> None:
    """TTL is required (RFC 8030, 5.2). `size` of the body in bytes. Raises Refused."""
    if not headers.get("TTL", "").isdigit():
        raise Refused(400, "TTL is missing or no number")
    if headers.get("Content-Encoding") != "aes128gcm":
        raise Refused(415, "the content is not aes128gcm")
    if headers.get("Urgency", "normal") not in _URGENCIES:
        raise Refused(400, "Urgency is none")
    if "Topic" in headers and not _TOPIC.fullmatch(headers["Topic"]):
        raise Refused(400, "Topic is none")
    if size > _LARGEST:
        raise Refused(413, "the message is too large")


def _ends(token: str, key: str, origin: str) -> int:
    options: Any = {"require": ["aud", "exp"], "verify_exp": False}
    try:
        point = base64.urlsafe_b64decode(key + "=" * (-len(key) % 4))
        public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
        claims = jwt.decode(token, public, ["ES256"], audience=origin, options=options)
    except (jwt.PyJWTError, ValueError) as error:
        raise Refused(403, "the VAPID token is none for this origin") from error
    if not str(claims.get("sub", "mailto:")).startswith(("mailto:", "https:")):
        raise Refused(403, "the VAPID token's subject is none")
    return int(claims["exp"])


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
