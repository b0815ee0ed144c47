"""Ids that are the same however often they are made."""

from hashlib import blake2b, sha1
from uuid import UUID

import msgspec

_NAMESPACE = UUID("5f0c2f7e-3d5b-5c0e-9a60-6c1f6e0a7d11").bytes  # ours, fixed for ever: golden vectors pin it
_GREGORIAN_100_NS = 0x01B21DD213814000  # from 1582-10-15 to 1970-01-01, RFC 9562 section 5.1
_canonical = msgspec.json.Encoder().encode


def notification_id(source: str, event_id: str, dedupe_key: str | None, user_id: str) -> str:
    """One per event and user: of (source, dedupe_key) where that is set, else of (source, event id)."""
    if dedupe_key is not None:
        return _uuid5(("dedupe_key", source, dedupe_key, user_id))
    return _uuid5(("event", source, event_id, user_id))


def delivery_id(notification: str, channel: str, endpoint_id: str) -> str:
    """One per notification, channel and endpoint. The endpoint's id, never its address."""
    return _uuid5((notification, channel, endpoint_id))


def hook_id(key: str, notification: str, about: str, state: str) -> str:
    """One per producer's key, notification, delivery (or channel) and state: each is told once."""
    return _uuid5(("hook", key, notification, about, state))


def digest_id(user_id: str, channel: str, window: str, number: int) -> str:
    """One per user, channel and numbered window."""
    return _uuid5((user_id, channel, window, str(number)))


def time_uuid(at_ms: int, seed: str) -> UUID:
    """A version-1 UUID (Cassandra's TIMEUUID) of this instant whose remaining bits come from the seed."""
    stamp = at_ms * 10_000 + _GREGORIAN_100_NS
    bits = int.from_bytes(blake2b(seed.encode(), digest_size=8).digest(), "big")
    time_part = (stamp & 0xFFFFFFFF) << 96 | (stamp >> 32 & 0xFFFF) << 80 | (stamp >> 48 & 0x0FFF | 0x1000) << 64
    return UUID(int=time_part | 0x8000_0000_0000_0000 | bits & 0x3FFF_FFFF_FFFF_FFFF)


def is_uuid(text: str) -> bool:
    """Whether it is one in its usual spelling."""
    try:
        return str(UUID(text)) == text.lower()
    except ValueError:
        return False


def _uuid5(parts: tuple[str, ...]) -> str:
    """UUIDv5 (RFC 9562) over the compact JSON array, in its usual spelling."""
    digest = bytearray(sha1(_NAMESPACE + _canonical(parts), usedforsecurity=False).digest()[:16])
    digest[6] = digest[6] & 0x0F | 0x50
    digest[8] = digest[8] & 0x3F | 0x80
    h = digest.hex()
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"
