"""Instants and spans on the simulator's pages."""

from datetime import UTC, datetime, timedelta

import pytest

from notify_streams.providers.simulator.pages.times import ago, took

NOW = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "just now"), (12, "12 s ago"), (185, "3 min ago"), (7300, "2 h ago"), (4 * 86_400, "4 d ago")],
)
def test_a_past_instant_is_told_in_its_largest_unit(seconds: int, words: str) -> None:
    assert ago((NOW - timedelta(seconds=seconds)).isoformat(), NOW) == words


@pytest.mark.parametrize(
    ("seconds", "words"), [(None, ""), (0.0004, "0.4 ms"), (0.0123, "12 ms"), (1.2, "1.2 s"), (61.0, "61.0 s")]
)
def test_a_latency_has_the_digits_that_matter(seconds: float | None, words: str) -> None:
    assert took(seconds) == words
