"""By what a device or a provider can see that two messages are one, or that one takes the other's place."""

import base64
from hashlib import sha256

import msgspec

from schemas.deliveries import DeliveryV1


def identity(delivery: DeliveryV1) -> str:
    """32 characters of base64url, the same for every attempt: of the collapse key where there is one.

    Short enough for a Topic of Web Push (RFC 8030 5.4) and for `apns-collapse-id` (64 bytes).
    """
    parts = ("delivery", delivery.delivery_id, "")
    if delivery.collapse_key is not None:
        parts = ("collapse", delivery.source, delivery.collapse_key)
    return base64.urlsafe_b64encode(sha256(msgspec.json.encode(parts)).digest()[:24]).decode()
