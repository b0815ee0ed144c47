"""Which months of an inbox are looked at."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from notify_streams.domain.ids import time_uuid
from notify_streams.inbox.order import months

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
KEPT = timedelta(days=90)


def test_from_the_newest_to_the_last_that_is_kept() -> None:
    assert list(months(None, NOW, KEPT)) == [202611, 202610, 202609]
    at = datetime(2026, 10, 5, tzinfo=UTC)
    assert list(months(time_uuid(round(at.timestamp() * 1000), "n"), NOW, KEPT)) == [202610, 202609]


def test_a_cursor_from_the_far_future_does_not_make_a_query_for_every_month_until_then() -> None:
    assert list(months(UUID(int=2**128 - 1, version=1), NOW, KEPT)) == [202611, 202610, 202609]


def test_a_cursor_from_before_what_is_kept_finds_nothing() -> None:
    assert list(months(UUID(int=0, version=1), NOW, KEPT)) == []
