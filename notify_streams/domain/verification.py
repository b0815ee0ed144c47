"""Codes that show that an address is its user's. Nothing is kept of them: a code follows from what it is for, and when.

A code is good for the rest of its ten minutes and the ten after them, and for nothing but one endpoint of one user with
the address that it was sent to.
"""

import hmac
from collections.abc import Sequence
from hashlib import sha256
from typing import Literal

import msgspec

from schemas.words import Channel

WINDOW_MS = 10 * 60_000
_DIGITS = 6
_GOOD, _KNOWN = 2, 7  # windows in which a code is taken, and in which it is told from a wrong one for an hour
_PURPOSE = "verification-code.v1"
Verdict = Literal["right", "expired", "wrong"]


class Claimed(msgspec.Struct, frozen=True):
    """What is to be verified: this endpoint of this user, while its address has this key."""

    user_id: str
    channel: Channel
    endpoint_id: str
    address_key: str


def code(secret: str, claimed: Claimed, now: int) -> str:
    """Six digits, the same within ten minutes. `now` in ms."""
    return _code(secret, claimed, now // WINDOW_MS)


def judge(secrets: Sequence[str], claimed: Claimed, shown: str, now: int) -> Verdict:
    """Of a code that was made with one of these secrets. Spaces do not count, and how long it takes tells nothing."""
    given = "".join(shown.split()).encode(errors="replace")
    verdict: Verdict = "wrong"
    for age in reversed(range(_KNOWN)):
        for secret in secrets:
            if hmac.compare_digest(given, _code(secret, claimed, now // WINDOW_MS - age).encode()):
                verdict = "right" if age < _GOOD else "expired"
    return verdict


def _code(secret: str, claimed: Claimed, window: int) -> str:
    body = msgspec.json.encode((_PURPOSE, claimed, window))
    number = int.from_bytes(hmac.digest(secret.encode(), body, sha256)[:8], "big")
    return f"{number % 10**_DIGITS:0{_DIGITS}}"
