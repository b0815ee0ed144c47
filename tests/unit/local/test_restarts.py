from hypothesis import given
from hypothesis import strategies as st

from notify_streams.local.restarts import TEMPORARY, Restarts


def test_the_first_temporary_failure_is_restarted_at_once() -> None:
    past, wait = Restarts().after(exit_code=TEMPORARY, ran_for=3)
    assert wait == 0
    assert past.after(exit_code=TEMPORARY, ran_for=3)[1] > 0


def test_each_failure_in_a_row_doubles_the_wait() -> None:
    past, waits = Restarts(), []
    for _ in range(4):
        past, wait = past.after(exit_code=1, ran_for=1)
        waits.append(wait)
    assert waits == [0.5, 1, 2, 4]


def test_a_minute_of_running_clears_the_past() -> None:
    past, wait = Restarts(in_a_row=9).after(exit_code=1, ran_for=61)
    assert (past.in_a_row, wait) == (1, 0.5)


@given(row=st.integers(0, 10**6), code=st.integers(-64, 255), ran_for=st.floats(0, 1e9))
def test_no_wait_is_longer_than_the_cap(row: int, code: int, ran_for: float) -> None:
    assert 0 <= Restarts(row).after(exit_code=code, ran_for=ran_for)[1] <= 30
