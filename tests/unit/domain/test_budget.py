"""How many notifications a user was disturbed by, counted so that a crash changes nothing."""

from hypothesis import given, settings
from hypothesis import strategies as st

from notify_streams.domain.budget import (
    DAY_MS,
    HOUR_MS,
    MOST_LIMIT,
    Spending,
    charged,
    instant_of,
    is_limited,
    is_spent,
    spending,
)
from schemas.catalogue import Budget
from tests.builders import MINUTE, NOW

WIDTH = 16


def an_id(number: int) -> str:
    return f"{number:08x}-2222-5333-8444-555555555555"


def row_of(*instants: int) -> bytes:
    """Notifications 0, 1, … charged one after the other."""
    row = b""
    for number, at in enumerate(instants):
        row = charged(row, an_id(number), at)
    return row


def counted(row: bytes, now: int) -> tuple[int, int]:
    found = spending(row, an_id(999_999), now)
    return found.hour, found.day


def test_who_was_never_disturbed_has_spent_nothing() -> None:
    assert spending(b"", an_id(0), NOW) == Spending(0, 0, paid=False)


def test_a_charge_counts_for_an_hour_and_for_a_day_to_the_millisecond() -> None:
    row = row_of(NOW)
    assert counted(row, NOW + 1) == (1, 1)
    assert counted(row, NOW + HOUR_MS - 1) == (1, 1)
    assert counted(row, NOW + HOUR_MS) == (0, 1)
    assert counted(row, NOW + DAY_MS - 1) == (0, 1)
    assert counted(row, NOW + DAY_MS) == (0, 0)


@given(st.lists(st.integers(0, 2 * DAY_MS), max_size=40), st.integers(0, 2 * DAY_MS))
def test_hour_and_day_slide(ages: list[int], after: int) -> None:
    """Counted one by one, whatever lies between."""
    row = b""
    for number, at in enumerate(sorted(set(ages))):
        row = charged(row, an_id(number), NOW + at)
    now = NOW + max([after, *ages])
    past = [now - (NOW + at) for at in set(ages)]
    assert counted(row, now) == (sum(0 < age < HOUR_MS for age in past), sum(0 < age < DAY_MS for age in past))


def test_a_notification_is_charged_once_however_often_it_is_decided() -> None:
    row = row_of(NOW)
    assert charged(row, an_id(0), NOW + MINUTE) == row
    assert spending(row, an_id(0), NOW + MINUTE).paid
    assert spending(row, an_id(0), NOW + 3 * HOUR_MS).paid


def test_the_decision_that_was_charged_finds_itself_unpaid_when_it_is_made_again() -> None:
    row = row_of(NOW, NOW + 1)
    again = spending(charged(row, an_id(7), NOW + 2), an_id(7), NOW + 2)
    assert again == spending(row, an_id(7), NOW + 2)


def test_ids_that_share_bytes_with_a_charge_are_not_found_in_it() -> None:
    inside = row_of(NOW, NOW)[11:21]  # the end of one print, the instant of the next charge
    other = f"{inside.hex()[:8]}-{inside.hex()[8:12]}-{inside.hex()[12:16]}-{inside.hex()[16:20]}-000000000000"
    assert not spending(row_of(NOW, NOW), other, NOW + 1).paid


INSTANTS = st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=60)
BUDGETS = st.builds(Budget, hour=st.none() | st.integers(1, 12), day=st.none() | st.integers(1, 12))


@given(INSTANTS, BUDGETS)
def test_a_repeat_sees_what_its_decision_saw_whatever_was_charged_in_the_same_millisecond(
    steps: list[tuple[int, bool]], budget: Budget
) -> None:
    """Charged or not: the same counts, so the same bytes of its record."""
    row, clock = b"", NOW
    decided: list[tuple[str, int, Spending]] = []
    for number, (pause, noisy) in enumerate(steps):
        clock += pause
        now = instant_of(row, clock)
        found = spending(row, an_id(number), now)
        decided.append((an_id(number), now, found))
        if noisy and not is_spent(budget, found.hour, found.day):
            row = charged(row, an_id(number), now)
    assert [spending(row, id_, now) for id_, now, _ in decided] == [found for _, _, found in decided]
    assert [charged(row, id_, now) for id_, now, found in decided if found.paid] == []


@settings(max_examples=20)
@given(st.integers(1, MOST_LIMIT), st.lists(st.integers(-3, 3), min_size=10, max_size=10))
def test_a_thousand_notifications_in_a_few_milliseconds_never_exceed_it(limit: int, pauses: list[int]) -> None:
    """Nor where the clock goes back a little meanwhile."""
    row, clock, delivered = b"", NOW, 0
    for number in range(1_000):
        clock += 0 if number % 100 else pauses[number // 100]
        now = instant_of(row, clock)
        found = spending(row, an_id(number), now)
        if not is_spent(Budget(hour=limit), found.hour, found.day):
            row, delivered = charged(row, an_id(number), now), delivered + 1
    assert delivered == min(limit, 1_000)


def test_a_thousand_notifications_in_one_millisecond_never_exceed_it() -> None:
    row = b""
    for number in range(1_000):
        now = instant_of(row, NOW)
        if not is_spent(Budget(hour=20, day=60), *spending(row, an_id(number), now)[:2]):
            row = charged(row, an_id(number), now)
    assert len(row) == 20 * WIDTH


def test_the_instant_of_a_decision_is_the_clocks_except_within_a_burst() -> None:
    assert instant_of(b"", NOW) == NOW
    assert instant_of(row_of(NOW - 1), NOW) == NOW
    assert instant_of(row_of(NOW), NOW) == NOW + 1
    assert instant_of(row_of(NOW + 700), NOW) == NOW + 701


def test_a_charge_from_far_ahead_does_not_carry_the_clock_with_it() -> None:
    """A worker whose clock was wrong by a year must not make all that follows expire."""
    assert instant_of(row_of(NOW + 365 * DAY_MS), NOW) == NOW


def test_what_can_count_no_more_is_forgotten_two_hours_after_its_day() -> None:
    row = row_of(NOW, NOW + 1)
    later = charged(row, an_id(7), NOW + DAY_MS + 2 * HOUR_MS)
    assert len(later) == 2 * WIDTH
    assert len(charged(row, an_id(7), NOW + DAY_MS + 2 * HOUR_MS - 1)) == 3 * WIDTH


def test_a_row_stays_bounded_and_still_knows_the_last_hour() -> None:
    """Under the greatest limit of an hour, reached in every one."""
    row, budget = b"", Budget(hour=MOST_LIMIT)
    for number in range(5 * MOST_LIMIT):
        now = NOW + number * HOUR_MS // MOST_LIMIT
        if not is_spent(budget, *spending(row, an_id(number), now)[:2]):
            row = charged(row, an_id(number), now)
    assert len(row) == 3 * MOST_LIMIT * WIDTH
    assert counted(row, now + 1) == (MOST_LIMIT, 3 * MOST_LIMIT)


def test_a_limit_that_is_left_out_is_none() -> None:
    assert not is_limited(Budget())
    assert not is_spent(Budget(), 10**6, 10**6)
    assert is_limited(Budget(day=5))
    assert is_spent(Budget(day=5), 0, 5)
    assert not is_spent(Budget(day=5), 100, 4)
    assert is_spent(Budget(hour=3, day=5), 3, 3)
