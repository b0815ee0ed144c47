from hypothesis import given
from hypothesis import strategies as st

from notify_streams.streaming.ledger import Ledger


def test_nothing_is_committable_before_anything_is_done() -> None:
    ledger = Ledger()
    ledger.take(5)
    assert ledger.committable is None
    assert ledger.busy


def test_what_was_done_in_order_is_committable_to_its_end() -> None:
    ledger = Ledger()
    ledger.take(0)
    ledger.finish(0, 10)
    assert ledger.committable == 10
    assert not ledger.busy


def test_a_later_run_that_ends_first_waits_for_the_earlier_one() -> None:
    ledger = Ledger()
    ledger.take(0)
    ledger.take(10)
    ledger.finish(10, 20)
    assert ledger.committable == 0
    ledger.finish(0, 10)
    assert ledger.committable == 20


def test_a_run_that_was_given_up_holds_back_all_later_ones_but_nobody_waits_for_it() -> None:
    ledger = Ledger()
    ledger.take(0)
    ledger.give_up(0)
    ledger.take(10)
    ledger.finish(10, 20)
    assert ledger.committable == 0
    assert not ledger.busy


@given(st.permutations(range(8)), st.integers(0, 8))
def test_whatever_the_order_nothing_unfinished_is_committed_past(order: list[int], finished: int) -> None:
    ledger = Ledger()
    for run in range(8):
        ledger.take(run * 10)
    for run in order[:finished]:
        ledger.finish(run * 10, run * 10 + 10)
    unfinished = [run * 10 for run in order[finished:]]
    assert ledger.committable is None or ledger.committable <= min(unfinished, default=80)
