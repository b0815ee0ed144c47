"""How far off an instant is, for people."""

import pytest

from notify_streams.cli.timers import in_words

SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000


@pytest.mark.parametrize(
    ("ms", "words"),
    [
        (0, "now"),
        (999, "now"),
        (-999, "now"),
        (SECOND, "in 1 second"),
        (-2 * SECOND, "2 seconds ago"),
        (61 * SECOND, "in 1 minute 1 second"),
        (HOUR, "in 1 hour"),
        (HOUR + 5 * SECOND, "in 1 hour"),
        (2 * HOUR + 5 * MINUTE + SECOND, "in 2 hours 5 minutes"),
        (-(DAY + HOUR), "1 day 1 hour ago"),
        (366 * DAY, "in 366 days"),
    ],
)
def test_the_two_greatest_units_are_told(ms: int, words: str) -> None:
    assert in_words(ms) == words
