"""What providers get to hand back with their receipts: which delivery of whom, signed by us."""

import base64
import binascii
import hmac
from collections.abc import Sequence
from hashlib import sha256
from uuid import UUID

import msgspec

from schemas.words import CHANNELS, Channel

TAG = "notify_reference"  # the name under which it goes with a mail, as a tag of SES and a custom argument of SendGrid
HEADER = "X-Notify-Reference"  # and as a header of every mail
_MAC, _HEAD = 16, 33
_PURPOSE = b"delivery-reference.v1"


class Reference(msgspec.Struct, frozen=True):
    """Which delivery it is about."""

    delivery_id: str
    notification_id: str
    channel: Channel
    user_id: str


def sign(secret: str, reference: Reference) -> str:
    """As base64url without padding: at most 236 characters, so that it fits into a tag of SES (256).

    Raises ValueError for ids that are no UUIDs.
    """
    ids = UUID(reference.delivery_id).bytes + UUID(reference.notification_id).bytes
    body = ids + bytes((CHANNELS.index(reference.channel),)) + reference.user_id.encode()
    return base64.urlsafe_b64encode(body + _mac(secret, body)).rstrip(b"=").decode()


def read(secrets: Sequence[str], text: str) -> Reference | None:
    """What we signed with one of these secrets; None for everything else."""
    try:
        raw = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error):
        return None
    body, mac = raw[:-_MAC], raw[-_MAC:]
    if len(body) <= _HEAD or not any(hmac.compare_digest(mac, _mac(secret, body)) for secret in secrets if secret):
        return None
    delivery, notification = str(UUID(bytes=body[:16])), str(UUID(bytes=body[16:32]))
    return Reference(delivery, notification, CHANNELS[body[32]], body[_HEAD:].decode())


def _mac(secret: str, body: bytes) -> bytes:
    return hmac.digest(secret.encode(), _PURPOSE + body, sha256)[:_MAC]
