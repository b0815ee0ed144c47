"""The link by which a reader switches a category off without logging in (RFC 8058): what its token says.

The token is encrypted besides being signed (AES-SIV, RFC 5297: both at once, and the same bytes for every attempt at a
delivery): producers choose the user ids, many of them take the address, and base64 alone would put it into every log
that the link passes. RFC 8058, 3.1 asks for an opaque identifier.
"""

import base64
import binascii
import hmac
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from schemas.words import Channel, Millis

LIFE_DAYS = 400  # a mail of a year ago still has a link that works; the least that is asked for is 90
_LIFE_MS = LIFE_DAYS * 86_400_000
_AHEAD_MS = 86_400_000  # how far another machine's clock may be ahead
_PURPOSE = b"unsubscribe.v1"
_PATH = "/v1/unsubscribe/"


class Unsubscribe(msgspec.Struct, frozen=True, array_like=True):
    """Whose mails of which category on which channel; `issued_at` in ms. `type` is for the metrics."""

    user_id: str
    channel: Channel
    category: str
    issued_at: Millis
    type: str = ""


def token(secret: str, *, user_id: str, channel: Channel, category: str, issued_at: int, type: str = "") -> str:
    """As base64url without padding: 45 characters, and four for every three bytes of user id, category, type.

    The same for the same arguments. `issued_at` in ms: the link works for `LIFE_DAYS` from then.
    """
    plain = msgspec.msgpack.encode(Unsubscribe(user_id, channel, category, issued_at, type))
    return base64.urlsafe_b64encode(_cipher(secret).encrypt(plain, [_PURPOSE])).rstrip(b"=").decode()


def url(public_url: str, token: str) -> str:
    """The link itself; `public_url` is how the world reaches the gateway."""
    return public_url.rstrip("/") + _PATH + token


def read(secrets: Sequence[str], text: str, now: int) -> Unsubscribe | None:
    """What one of these secrets has made and is still good at `now` (ms); None for everything else."""
    try:
        raw = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error):
        return None
    for secret in filter(None, secrets):
        try:
            said = _decode(_cipher(secret).decrypt(raw, [_PURPOSE]))
        except (InvalidTag, msgspec.DecodeError):
            continue
        return said if said.issued_at - _AHEAD_MS <= now < said.issued_at + _LIFE_MS else None
    return None


@lru_cache(maxsize=8)
def _cipher(secret: str) -> AESSIV:
    return AESSIV(hmac.digest(secret.encode(), _PURPOSE, sha256))


_decode = msgspec.msgpack.Decoder(Unsubscribe).decode
