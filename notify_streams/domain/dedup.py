"""Fresh, repeat or duplicate? The row of prints that a user's state keeps for 24 hours.

A print is 25 bytes: 10 of the notification's id, 4 of its origin's hash, 6 of the instant of the decision (ms), the
profile version modulo 2^16, two bits of verdict per channel, the revision. At 20 notifications a day a user's row
is 500 bytes, and a look-up is one search for a byte string: nothing is decoded. A collision of ids has a chance of
2^-76 per pair; one of origins makes a duplicate look like a repeat, whose effects the next hop drops by id.

A row is read and written whole with each notification. So the row of somebody who gets thousands a day keeps the
newest, and its older prints are kept one by one under the hour of their decision.
"""

import struct
from enum import Enum
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from schemas.words import CHANNELS, Channel

_ROW = struct.Struct(">10s4sHIHHB")
WIDTH = _ROW.size
WINDOW_MS = 24 * 3600 * 1000
_HOUR_MS = 3600 * 1000
DELIVERED, DEFERRED, COLLECTED = 1, 2, 3  # the two bits of verdict; 0 where it goes nowhere
MOST, _KEPT = 512 * WIDTH, 256 * WIDTH


class Seen(NamedTuple):
    """One notification met within the window."""

    origin: bytes
    decided_at: int
    profile_version: int
    verdicts: int
    revision: int


class Sighting(Enum):
    """How a notification relates to what its user's state remembers."""

    FRESH = "fresh"
    REPEAT = "repeat"  # the same record again: its sends may be missing, so they are made again
    ANEW = "anew"  # the same record again, but the profile has changed: it is decided again
    DUPLICATE = "duplicate"  # another record of the same event: nothing follows


@lru_cache(1024)
def print_of(notification_id: str) -> bytes:
    """The first 10 bytes of the id."""
    return bytes.fromhex(notification_id.replace("-", "")[:20])


def origin_print(origin: str) -> bytes:
    """Four bytes that tell one record's origin from another's."""
    return blake2b(origin.encode(), digest_size=4).digest()


def find(row: bytes, print_: bytes) -> Seen | None:
    """What the row says of the print."""
    at = _position(row, print_)
    if at < 0:
        return None
    _, origin, high, low, version, verdicts, revision = _ROW.unpack_from(row, at)
    return Seen(origin, high << 32 | low, version, verdicts, revision)


def sight(seen: Seen | None, origin: str) -> Sighting:
    """Tell a first meeting from a redelivery (same origin) and from a duplicate (another one)."""
    if seen is None:
        return Sighting.FRESH
    return Sighting.REPEAT if seen.origin == origin_print(origin) else Sighting.DUPLICATE


def verdict_in(seen: Seen, channel: Channel) -> int:
    """What was decided of a channel: DELIVERED, DEFERRED, COLLECTED, or 0 where it goes nowhere."""
    return seen.verdicts >> 2 * CHANNELS.index(channel) & 3


def remember(row: bytes, print_: bytes, seen: Seen) -> bytes:
    """The row with this print last, and without what is older than the window before it."""
    known = _position(row, print_)
    if known >= 0:
        row = row[:known] + row[known + WIDTH :]
    oldest, start = seen.decided_at - WINDOW_MS, 0
    while start < len(row) and int.from_bytes(row[start + 14 : start + 20], "big") <= oldest:
        start += WIDTH
    at = seen.decided_at
    return row[start:] + _ROW.pack(
        print_, seen.origin, at >> 32, at & 0xFFFFFFFF, seen.profile_version & 0xFFFF, seen.verdicts, seen.revision
    )


def overflow(row: bytes) -> tuple[list[bytes], bytes]:
    """Of a row that is longer than MOST all prints but the newest, and the row that is left."""
    if len(row) <= MOST:
        return [], row
    cut = len(row) - _KEPT
    return [row[at : at + WIDTH] for at in range(0, cut, WIDTH)], row[cut:]


def hour_of(entry: bytes) -> int:
    """The hour (since the epoch) of the last print's decision."""
    return int.from_bytes(entry[-WIDTH:][14:20], "big") // _HOUR_MS


def is_past(hour: int, now: int) -> bool:
    """Whether all prints of an hour are older than the window in hour `now`."""
    return hour + 1 + WINDOW_MS // _HOUR_MS <= now


def _position(row: bytes, print_: bytes) -> int:
    at = row.find(print_)
    while at > 0 and at % WIDTH:
        at = row.find(print_, at + 1)
    return at
