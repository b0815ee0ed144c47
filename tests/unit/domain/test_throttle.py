"""How many calls a second a provider gets, by lane. Times in seconds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_streams.domain.throttle import FRESH, HIGH_WAITS_S, Throttle, take
from schemas.words import LANES, Lane

NOW = 1_790_000_000.0


def over(seconds: float, rate: float, *lanes: Lane, every: float = 0.004, wanted: int = 100) -> dict[Lane, int]:
    """How much each lane gets that asks all the time."""
    throttle, got = FRESH, dict.fromkeys(lanes, 0)
    for step in range(round(seconds / every)):
        for lane in lanes:
            throttle, grant = take(throttle, rate, lane, wanted, NOW + step * every)
            got[lane] += grant.granted
    return got


@pytest.mark.parametrize("rate", [0.5, 10, 500, 4000])
@pytest.mark.parametrize("lane", ["high", "normal"])
def test_over_a_minute_the_rate_is_kept_within_a_percent(rate: float, lane: Lane) -> None:
    assert over(60, rate, lane)[lane] == pytest.approx(60 * rate, rel=0.01, abs=1)


def test_low_gets_at_most_sixty_percent() -> None:
    assert over(60, 500, "low")["low"] == pytest.approx(60 * 500 * 0.6, rel=0.01)


def test_high_takes_the_whole_rate_where_it_needs_it() -> None:
    got = over(60, 500, "high", "normal", "low")
    assert got["high"] >= 0.99 * sum(got.values())


def test_a_little_high_traffic_finds_room_at_once_beside_a_flood() -> None:
    throttle = FRESH
    for step in range(10_000):
        throttle, _ = take(throttle, 500, "normal", 100, NOW + step / 1000)
        if step % 100 == 0:
            throttle, grant = take(throttle, 500, "high", 1, NOW + step / 1000)
            assert grant.granted == 1


def test_the_wait_that_is_named_is_enough_for_one_more() -> None:
    throttle, grant = take(FRESH, 10, "normal", 50, NOW)
    assert (grant.granted, grant.wait_ms) == (1, 100)
    assert take(throttle, 10, "normal", 1, NOW + 0.05)[1].granted == 0
    assert take(throttle, 10, "normal", 1, NOW + grant.wait_ms / 1000)[1].granted == 1


def test_others_stand_back_while_high_waits() -> None:
    throttle, _ = take(FRESH, 500, "high", 1000, NOW)
    assert take(throttle, 500, "normal", 1, NOW + HIGH_WAITS_S - 0.01)[1].granted == 0
    assert take(throttle, 500, "normal", 1, NOW + HIGH_WAITS_S)[1].granted == 1


def test_a_pause_holds_for_every_lane_and_says_how_long() -> None:
    throttle = Throttle(paused_until=NOW + 2)
    for lane in LANES:
        assert (lane, take(throttle, 500, lane, 1, NOW)[1].wait_ms) == (lane, 2000)
        assert take(throttle, 500, lane, 1, NOW + 2)[1].granted == 1


def test_a_clock_that_was_set_back_does_not_shut_it() -> None:
    throttle, _ = take(FRESH, 500, "normal", 50, NOW + 86_400)
    assert take(throttle, 500, "normal", 1, NOW)[1].granted == 1


@given(
    st.lists(st.tuples(st.sampled_from(LANES), st.integers(1, 400), st.floats(0, 0.5)), min_size=1, max_size=60),
    st.floats(0.2, 5000),
)
def test_never_more_than_the_rate_and_what_may_go_at_once(asked: list[tuple[Lane, int, float]], rate: float) -> None:
    throttle, now, granted = FRESH, NOW, 0
    for lane, wanted, later in asked:
        now += later
        throttle, grant = take(throttle, rate, lane, wanted, now)
        assert 0 <= grant.granted <= wanted
        assert (grant.wait_ms > 0) == (grant.granted < wanted)
        granted += grant.granted
    assert granted <= (now - NOW) * rate + max(1.0, 0.1 * rate) + 1
