"""A user's personal fields, encrypted so that they are gone once the user's key is.

AES-256-SIV (RFC 5297): deterministic, so that a repeat gives the same bytes, and safe as such. Its synthetic IV is a
MAC over the plaintext and everything that it is bound to; two plaintexts share one only where they are the same in the
same place. With AES-GCM a nonce met twice would give the key stream away.
"""

from binascii import Error, a2b_base64, b2a_base64
from hashlib import blake2b

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from schemas.content import Sealed

SECRET_BYTES = 64  # AES-256-SIV takes two keys of 256 bits
_SIV_BYTES = 16
_PURPOSE = b"notify sealed 1"
_WRAPPING = b"notify user key 1"


class Broken(ValueError):
    """Not what was sealed: altered, cut, or put in another place. A fault of the data."""


class UserKey:
    """A user's secret, named by its own print: a key that is made after the first was destroyed never has its name."""

    def __init__(self, secret: bytes) -> None:
        """Raises ValueError unless the secret has SECRET_BYTES."""
        if len(secret) != SECRET_BYTES:
            raise ValueError(f"a user's key has {SECRET_BYTES} bytes, not {len(secret)}")
        self.secret = secret
        self.key_id = blake2b(secret, digest_size=12, person=b"notify key id").hexdigest()
        self._cipher = AESSIV(secret)

    def __repr__(self) -> str:
        """Never the secret."""
        return f"UserKey({self.key_id})"

    def seal(self, plain: bytes, place: "Place") -> Sealed:
        """The same bytes for the same text in the same place; never the same nonce for two texts."""
        sealed = self._cipher.encrypt(plain, self._bound(place))
        return Sealed(
            key_id=self.key_id,
            nonce=b2a_base64(sealed[:_SIV_BYTES], newline=False).decode(),
            data=b2a_base64(sealed[_SIV_BYTES:], newline=False).decode(),
        )

    def open(self, sealed: Sealed, place: "Place") -> bytes:
        """What was sealed under this key in this place. Raises Broken."""
        try:
            nonce, data = (a2b_base64(part, strict_mode=True) for part in (sealed.nonce, sealed.data))
            if len(nonce) != _SIV_BYTES:
                raise Broken(f"sealed.nonce: expected {_SIV_BYTES} bytes, got {len(nonce)}")
            return self._cipher.decrypt(nonce + data, self._bound(place))
        except InvalidTag:
            raise Broken(f"sealed: not as it was sealed under key {self.key_id}") from None
        except Error as error:
            raise Broken(f"sealed: {error}") from None

    def _bound(self, place: "Place") -> list[bytes]:
        return [_PURPOSE, self.key_id.encode(), *(part.encode() for part in (place.record_id, place.field, place.hop))]


class Place(msgspec.Struct, frozen=True):
    """Where sealed bytes belong; nowhere else do they open. `hop` is the topic or table, without prefix and lane."""

    record_id: str
    field: str
    hop: str


class Redacted(msgspec.Struct, frozen=True):
    """What is left of sealed bytes whose key was destroyed."""

    key_id: str


def opened(sealed: Sealed, key: UserKey | None, place: Place) -> bytes | Redacted:
    """Open with the key that the user has now: none, or another than it was sealed under, and it is redacted.

    Raises Broken.
    """
    if key is None or key.key_id != sealed.key_id:
        return Redacted(sealed.key_id)
    return key.open(sealed, place)


def wrap(key: UserKey, user_id: str, master: bytes) -> bytes:
    """The key as it is kept, readable with the master key (SECRET_BYTES) and for this user only."""
    return AESSIV(master).encrypt(key.secret, [_WRAPPING, user_id.encode()])


def unwrap(wrapped: bytes, user_id: str, master: bytes) -> UserKey:
    """The reverse. Raises Broken: another master key, another user's row, or damaged."""
    try:
        return UserKey(AESSIV(master).decrypt(wrapped, [_WRAPPING, user_id.encode()]))
    except (InvalidTag, ValueError):
        raise Broken("a user's key: not as it was wrapped under this master key") from None
