"""Where failed deliveries are filed: by day, channel and bucket."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zlib import crc32

BUCKETS = 8


def day_of(at_ms: int) -> int:
    """YYYYMMDD of UTC."""
    return _day(datetime.fromtimestamp(at_ms / 1000, UTC))


def bucket_of(delivery_id: str) -> int:
    """Spreads a day's failures of a channel: an outage may bring millions."""
    return crc32(delivery_id.encode()) % BUCKETS


def days(since_ms: int, until_ms: int) -> Iterator[int]:
    """The days of a span, newest first."""
    at, oldest = datetime.fromtimestamp(until_ms / 1000, UTC), day_of(since_ms)
    while _day(at) >= oldest:
        yield _day(at)
        at -= timedelta(days=1)


def _day(at: datetime) -> int:
    return (at.year * 100 + at.month) * 100 + at.day
