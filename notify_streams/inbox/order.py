"""Where an inbox item stands: its month, and its place among the others of its user."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

_GREGORIAN_100_NS = 0x01B21DD213814000  # from 1582-10-15 to 1970-01-01, RFC 9562 section 5.1
_SKEW = timedelta(minutes=10)  # a broker's clock may be ahead of the reader's
_LSB, _SIGNS = 0xFFFF_FFFF_FFFF_FFFF, 0x8080_8080_8080_8080


def instant_of(item_id: UUID) -> int:
    """When it was accepted, ms since the epoch."""
    return (item_id.time - _GREGORIAN_100_NS) // 10_000


def month_of(item_id: UUID) -> int:
    """Its partition, YYYYMM of UTC: that of the instant in the id."""
    return _month(datetime.fromtimestamp(instant_of(item_id) / 1000, UTC))


def place(item_id: UUID) -> tuple[int, int]:
    """Sorts as Cassandra sorts TIMEUUIDs: by time, then by the remaining bytes taken as signed."""
    return item_id.time, (item_id.int & _LSB) ^ _SIGNS


def months(before: UUID | None, now: datetime, kept: timedelta) -> Iterator[int]:
    """The months that can hold items older than `before` that are still kept, newest first."""
    newest = now + _SKEW
    if before is not None:
        newest = min(newest, datetime.fromtimestamp(instant_of(before) / 1000, UTC))
    month, oldest = _month(newest), _month(now - kept)
    while month >= oldest:
        yield month
        month -= 1 if month % 100 > 1 else 89


def _month(at: datetime) -> int:
    return at.year * 100 + at.month
