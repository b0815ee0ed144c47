"""When "the address is dead" is not believed any more."""

from notify_streams.domain.surge import CALM, SLOT_MS, Surge, after, is_stopped

NOW = 1_790_000_000_000


def met(surge: Surge, bad: int, good: int, now: int = NOW) -> Surge:
    for is_bad in [True] * bad + [False] * good:
        surge = after(surge, is_bad, now)
    return surge


def test_more_than_a_fifth_of_fifty_stops_removals() -> None:
    """Pinned 13: more than 20 % of at least 50 answers within five minutes."""
    assert not is_stopped(met(CALM, 10, 40), NOW)
    assert is_stopped(met(CALM, 11, 39), NOW)


def test_few_answers_prove_nothing() -> None:
    assert not is_stopped(met(CALM, 49, 0), NOW)
    assert is_stopped(met(CALM, 50, 0), NOW)


def test_after_five_minutes_it_is_forgotten() -> None:
    surge = met(CALM, 30, 30)
    assert is_stopped(surge, NOW + 9 * SLOT_MS)
    assert not is_stopped(surge, NOW + 10 * SLOT_MS)
    assert len(after(surge, False, NOW + 20 * SLOT_MS).slots) == 1


def test_answers_of_several_half_minutes_count_together() -> None:
    surge = CALM
    for n in range(5):
        surge = met(surge, 3, 7, NOW + n * SLOT_MS)
    assert is_stopped(surge, NOW + 5 * SLOT_MS)
