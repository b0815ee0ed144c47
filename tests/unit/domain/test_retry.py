"""What follows an attempt."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_streams.domain.answers import Answer, EndpointGone, Refused, Sent, TryLater, Unknown
from notify_streams.domain.retry import (
    Exhausted,
    Expire,
    Fail,
    Finish,
    NextStep,
    RetryAt,
    RetryPolicy,
    SettleAt,
    next_step,
)
from schemas.words import Reason
from tests.builders import DAY, MINUTE, NOW, POLICY

DETAIL = "421 too busy"
INF, NAN = float("inf"), float("nan")


def after(answer: Answer, attempt: int = 1, **changes: Any) -> NextStep:
    given_: dict[str, Any] = {"expires_at": NOW + DAY, "now": NOW, "jitter": 0.0, "repeatable": False, "policy": POLICY}
    return next_step(answer, attempt=attempt, **{**given_, **changes})


def delay(step: NextStep) -> int:
    assert isinstance(step, RetryAt)
    return step.due_at - NOW


@pytest.mark.parametrize(
    ("answer", "step"),
    [
        (Sent("m-1"), Finish()),
        (EndpointGone("550 no such user"), Fail(Reason.ENDPOINT_GONE)),
        (Refused("554 spam"), Fail(Reason.REFUSED)),
        (TryLater(DETAIL), RetryAt(NOW + 1_000)),
        (Unknown("cut off"), SettleAt(NOW + 10 * MINUTE)),
    ],
)
def test_each_answer_has_its_step(answer: Answer, step: NextStep) -> None:
    assert after(answer) == step


@pytest.mark.parametrize("answer", [Sent(), EndpointGone("gone"), Refused("no")])
def test_final_answers_are_final_at_any_attempt_and_after_expiry(answer: Answer) -> None:
    assert after(answer) == after(answer, 10**9, expires_at=NOW - 1)


def test_delays_double_up_to_the_cap() -> None:
    """RTY-01"""
    policy = RetryPolicy(base_ms=2_000, cap_ms=60_000, attempts=100, lock_ms=MINUTE)
    delays = [delay(after(TryLater(DETAIL), attempt, policy=policy)) for attempt in (*range(1, 9), 99)]
    assert delays == [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000, 30_000]


@given(st.integers(1, 5), st.floats(0, 1, exclude_max=True))
def test_jitter_spreads_a_delay_over_its_upper_half(attempt: int, jitter: float) -> None:
    """RTY-01"""
    full = min(POLICY.cap_ms, POLICY.base_ms * 2 ** (attempt - 1))
    assert full / 2 <= delay(after(TryLater(DETAIL), attempt, jitter=jitter)) <= full


@pytest.mark.parametrize("answer", [TryLater(DETAIL), TryLater(DETAIL, 3600), Unknown("cut off")])
@pytest.mark.parametrize("repeatable", [True, False])
def test_the_last_attempt_is_the_last(answer: Answer, repeatable: bool) -> None:
    """RTY-05"""
    assert not isinstance(after(answer, POLICY.attempts - 1, repeatable=repeatable), Exhausted)
    assert after(answer, POLICY.attempts, repeatable=repeatable) == Exhausted()


@given(st.integers(POLICY.attempts, 10**12))
def test_giving_up_is_decided_before_any_arithmetic(attempt: int) -> None:
    assert after(TryLater(DETAIL, INF), attempt) == Exhausted()


@given(st.floats(0, 80_000), st.floats(0, 1, exclude_max=True))
def test_it_is_never_tried_earlier_than_told(told: float, jitter: float) -> None:
    """RTY-02"""
    assert delay(after(TryLater(DETAIL, told), jitter=jitter)) >= told * 1000


@pytest.mark.parametrize(
    ("told", "expected"),
    [(120, 120_000), (1.5, 1_500), (1.0001, 1_001), (0, 1_000), (None, 1_000), (-5, 1_000), (NAN, 1_000)],
)
def test_retry_after_wins_where_it_is_longer_than_the_own_delay(told: float | None, expected: int) -> None:
    """RTY-02"""
    assert delay(after(TryLater(DETAIL, told))) == expected


@pytest.mark.parametrize("told", [60, 61, 1e12, 1e308, INF])
def test_told_to_wait_past_the_deadline_it_expires_instead_of_being_parked(told: float) -> None:
    assert after(TryLater(DETAIL, told), expires_at=NOW + MINUTE) == Expire()


@pytest.mark.parametrize(("left", "step"), [(1_001, RetryAt(NOW + 1_000)), (1_000, Expire()), (0, Expire())])
def test_an_attempt_at_the_instant_of_expiry_would_be_too_late(left: int, step: NextStep) -> None:
    """RTY-07"""
    assert after(TryLater(DETAIL), expires_at=NOW + left) == step


@pytest.mark.parametrize(
    ("left", "step"),
    [
        (DAY, SettleAt(NOW + 10 * MINUTE)),
        (10 * MINUTE + 1_001, SettleAt(NOW + 10 * MINUTE)),
        (5 * MINUTE, SettleAt(NOW + 5 * MINUTE - 1_000)),
        (1_001, SettleAt(NOW + 1)),
        (1_000, Fail(Reason.UNKNOWN_OUTCOME)),
        (-1, Fail(Reason.UNKNOWN_OUTCOME)),
    ],
)
def test_an_unknown_outcome_rests_until_the_lock_ends_or_just_before_it_expires(left: int, step: NextStep) -> None:
    assert after(Unknown("cut off"), expires_at=NOW + left) == step


def test_with_an_idempotency_key_an_unknown_outcome_is_retried_like_any_other() -> None:
    """IDM-03"""
    assert after(Unknown("cut off"), repeatable=True) == RetryAt(NOW + 1_000)


ANSWERS = st.one_of(
    st.just(Sent()),
    st.builds(EndpointGone, st.text()),
    st.builds(Refused, st.text()),
    st.builds(TryLater, st.text(), st.none() | st.floats()),
    st.builds(Unknown, st.text()),
)


@given(
    ANSWERS,
    st.integers(1, 2**40),
    st.integers(0, 2**50),
    st.floats(0, 1, exclude_max=True),
    st.booleans(),
)
def test_whatever_the_answer_the_next_attempt_lies_between_now_and_expiry(
    answer: Answer, attempt: int, expires_at: int, jitter: float, repeatable: bool
) -> None:
    step = after(answer, attempt, expires_at=expires_at, jitter=jitter, repeatable=repeatable)
    if isinstance(step, RetryAt | SettleAt):
        assert attempt < POLICY.attempts
        assert NOW < step.due_at < expires_at
