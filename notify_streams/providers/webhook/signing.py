"""Signatures as Standard Webhooks 1.0.0 has them ("Verifying webhook authenticity"): HMAC-SHA256 over id.time.body."""

import base64
import binascii
import hmac
import secrets
from hashlib import sha256

PREFIX = "whsec_"
_SHORTEST, _LONGEST = 24, 64  # bytes
_MADE = 32


def new_secret() -> str:
    """One that nobody has met."""
    return PREFIX + base64.b64encode(secrets.token_bytes(_MADE)).decode()


def key_of(secret: str) -> bytes:
    """The key itself. Raises ValueError, without the secret, for what is none."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(PREFIX) or not _SHORTEST <= len(key) <= _LONGEST:
        raise ValueError(f"expected {PREFIX} and {_SHORTEST} to {_LONGEST} bytes in base64")
    return key


def headers(keys: tuple[bytes, ...], id_: str, body: bytes, *, now: int) -> dict[str, str]:
    """The three headers; a signature by each key, so that receivers may change theirs one after the other."""
    seconds = str(now // 1000)
    signed = f"{id_}.{seconds}.".encode() + body
    signatures = (base64.b64encode(hmac.digest(key, signed, sha256)).decode() for key in keys)
    return {
        "webhook-id": id_,
        "webhook-timestamp": seconds,
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }
