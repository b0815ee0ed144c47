"""Item ids as keys: bytes that sort by age, and tell the instant at which the item was accepted."""

import struct
from uuid import UUID

_GREGORIAN_100_NS = 0x01B21DD213814000  # from 1582-10-15 to 1970-01-01, RFC 9562 section 5.1
_KEY = struct.Struct(">QQ")
_REST = 0xFFFF_FFFF_FFFF_FFFF
_VERSION_1 = 0x1000
WIDTH = _KEY.size


def key_of(item_id: UUID) -> bytes:
    """The id's time, and its remaining bits."""
    whole = item_id.int
    high, middle, low = whole >> 64 & 0x0FFF, whole >> 80 & 0xFFFF, whole >> 96
    return _KEY.pack(high << 48 | middle << 32 | low, whole & _REST)


def id_of(key: bytes) -> UUID:
    """What `key_of` was made of."""
    stamp, rest = _KEY.unpack(key)
    time_part = (stamp & 0xFFFF_FFFF) << 96 | (stamp >> 32 & 0xFFFF) << 80 | (stamp >> 48 | _VERSION_1) << 64
    return UUID(int=time_part | rest)


def named(text: str) -> bytes | None:
    """The key of an item id in its usual spelling; None for what cannot be one."""
    try:
        item_id = UUID(text)
    except ValueError:
        return None
    return key_of(item_id) if item_id.version == 1 else None


def accepted_at(key: bytes) -> int:
    """Milliseconds since the epoch."""
    return (int.from_bytes(key[:8], "big") - _GREGORIAN_100_NS) // 10_000


def several(keys: bytes) -> list[bytes]:
    """Keys that were joined."""
    return [keys[at : at + WIDTH] for at in range(0, len(keys), WIDTH)]
