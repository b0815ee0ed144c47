"""What follows an attempt."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_streams.domain.answers import Answer, EndpointGone, Misconfigured, Refused, Sent, TryLater, Unknown
from notify_streams.domain.retry import (
    MOST_PAUSE_MS,
    Exhausted,
    Expire,
    Fail,
    FailOver,
    Finish,
    NextStep,
    RetryAt,
    RetryPolicy,
    SettleAt,
    next_step,
    pause_ms,
    rests_until,
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


@pytest.mark.parametrize(
    ("about", "reason"),
    [("message", Reason.REFUSED), ("mailbox_full", Reason.MAILBOX_FULL), ("sender", Reason.SENDER_BLOCKED)],
)
def test_a_refusal_is_final_for_what_it_is_about(about: Any, reason: Reason) -> None:
    """EML-07"""
    assert after(Refused("5xx", about)) == Fail(reason)


@pytest.mark.parametrize("attempt", [1, 6, 999])
def test_refused_credentials_have_no_limit_but_the_deadline(attempt: int) -> None:
    """RTY-04"""
    assert isinstance(after(Misconfigured("401"), attempt), RetryAt)
    assert after(Misconfigured("401"), attempt, expires_at=NOW + 500) == Expire()


@pytest.mark.parametrize("answer", [Misconfigured("403"), TryLater("503", about="provider")])
def test_what_a_provider_cannot_take_another_one_may_whatever_the_number_of_attempts(answer: Answer) -> None:
    assert after(answer, 99, another_left=True) == FailOver()


@pytest.mark.parametrize("answer", [TryLater("451"), Unknown("cut"), Sent(), Refused("554"), EndpointGone("550")])
@pytest.mark.parametrize("repeatable", [True, False])
def test_nothing_else_is_given_to_another_provider(answer: Answer, repeatable: bool) -> None:
    """IDM-03: an unknown outcome never."""
    step = after(answer, another_left=True, repeatable=repeatable)
    assert step == after(answer, repeatable=repeatable) != FailOver()


@given(st.integers(1, 50), st.integers(0, 50))
def test_attempts_that_do_not_count_put_the_limit_off(attempt: int, uncounted: int) -> None:
    exhausted = isinstance(after(TryLater(DETAIL), attempt, uncounted=uncounted), Exhausted)
    assert exhausted == (attempt - uncounted >= POLICY.attempts)


@given(st.integers(1, 5), st.floats(0, 1, exclude_max=True), st.integers(-MINUTE, DAY))
def test_while_a_provider_takes_no_calls_nothing_is_due_and_nothing_expires_for_that(
    attempt: int, jitter: float, closed_for: int
) -> None:
    left = 10 * MINUTE
    step = after(TryLater(DETAIL), attempt, jitter=jitter, expires_at=NOW + left, not_before=NOW + closed_for)
    assert min(closed_for, left - 1) <= delay(step) < left


@pytest.mark.parametrize(
    ("answer", "pause"),
    [
        (TryLater("429", 120, "provider"), 120_000),
        (TryLater("429", 0.0001, "provider"), 1),
        (TryLater("429", INF, "provider"), MOST_PAUSE_MS),
        (TryLater("429", NAN, "provider"), 0),
        (TryLater("429", -5, "provider"), 0),
        (TryLater("429", None, "provider"), 0),
        (TryLater("429", 120), 0),
        (Sent(), 0),
    ],
)
def test_a_provider_is_left_alone_for_as_long_as_it_asks_and_an_hour_at_most(answer: Answer, pause: int) -> None:
    """TOK-11"""
    assert pause_ms(answer) == pause


@given(st.integers(0, DAY), st.integers(-1, DAY), st.floats(0, 1, exclude_max=True), st.integers(-1, DAY))
def test_what_could_not_be_tried_comes_back_later_the_longer_it_waits_and_never_after_its_end(
    age: int, left: int, jitter: float, closed_for: int
) -> None:
    """RTY-12: some rounds an hour, not thousands."""
    due = rests_until(NOW - age, NOW + left, NOW, jitter, not_before=NOW + closed_for)
    assert NOW <= due <= max(NOW, NOW + left)
    rest = max(2_000, min(age // 4, 5 * MINUTE), closed_for)
    assert due - NOW >= min(rest, left)


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
