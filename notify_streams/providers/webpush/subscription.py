"""A subscription as the browser gave it (W3C Push API, `PushSubscription.toJSON()`), and what may be asked of it."""

import base64
import binascii
from urllib.parse import urlsplit

import msgspec
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey

_AUTH_BYTES = 16


class _Keys(msgspec.Struct, frozen=True):
    p256dh: str
    auth: str


class _Json(msgspec.Struct, frozen=True):
    endpoint: str
    keys: _Keys


class Subscription(msgspec.Struct, frozen=True):
    """Where to post, the origin of that, and for whom to encrypt (RFC 8291, 3)."""

    endpoint: str
    origin: str
    host: str
    secure: bool
    key: EllipticCurvePublicKey
    auth: bytes


def read(address: str) -> Subscription | None:
    """None for what is no subscription, or one whose keys are none: nothing could ever be encrypted for it."""
    try:
        found = msgspec.json.decode(address, type=_Json)
        parts = urlsplit(found.endpoint)
        host, port = parts.hostname, parts.port
        key = EllipticCurvePublicKey.from_encoded_point(SECP256R1(), _bytes(found.keys.p256dh))
        auth = _bytes(found.keys.auth)
    except (msgspec.DecodeError, ValueError):
        return None
    if parts.scheme not in ("https", "http") or not host or len(auth) != _AUTH_BYTES or not found.endpoint.isascii():
        return None
    shown = f"[{host}]" if ":" in host else host
    default = port is None or port == (443 if parts.scheme == "https" else 80)
    origin = f"{parts.scheme}://{shown}" if default else f"{parts.scheme}://{shown}:{port}"
    return Subscription(found.endpoint, origin, host, parts.scheme == "https", key, auth)


def _bytes(text: str) -> bytes:
    """Base64url, padded or not, as browsers differ. Raises ValueError."""
    try:
        return base64.b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4), b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError("no base64url") from error
