"""What is published about a delivery, and what brings it back."""

from typing import Any

import pytest

from notify_streams.domain.answers import Answer, EndpointGone, Refused, Sent, TryLater, Unknown
from notify_streams.domain.outcomes import held, next_attempt, not_tried, of_answer, postponed, timer_id
from notify_streams.domain.retry import Exhausted, Expire, Fail, Finish, NextStep, RetryAt, SettleAt
from schemas.codec import encode
from schemas.deliveries import decode_delivery
from schemas.outcomes import OutcomeState
from schemas.words import Reason
from tests.builders import MAILBOX, NOW, a_delivery

LATER = NOW + 9_000


@pytest.mark.parametrize(
    ("answer", "step", "state", "reason", "next_at"),
    [
        (Sent("m-1"), Finish(), "sent", None, None),
        (EndpointGone("550"), Fail(Reason.ENDPOINT_GONE), "failed", Reason.ENDPOINT_GONE, None),
        (Refused("554"), Fail(Reason.REFUSED), "failed", Reason.REFUSED, None),
        (TryLater("421"), Exhausted(), "failed", Reason.ATTEMPTS_EXHAUSTED, None),
        (TryLater("421"), Expire(), "expired", Reason.EXPIRED, None),
        (TryLater("421"), RetryAt(LATER), "retrying", Reason.PROVIDER_UNAVAILABLE, LATER),
        (Unknown("cut"), SettleAt(LATER), "unknown", Reason.UNKNOWN_OUTCOME, LATER),
        (Unknown("cut"), Fail(Reason.UNKNOWN_OUTCOME), "failed", Reason.UNKNOWN_OUTCOME, None),
    ],
)
def test_each_step_has_its_state_and_reason(
    answer: Answer, step: NextStep, state: OutcomeState, reason: Reason | None, next_at: int | None
) -> None:
    outcome = of_answer(a_delivery(attempt=3), answer, step, "smtp", NOW)
    assert (outcome.state, outcome.reason, outcome.next_at) == (state, reason, next_at)
    assert (outcome.attempt, outcome.provider, outcome.at) == (3, "smtp", NOW)


@pytest.mark.parametrize(
    ("reason", "state"),
    [
        (Reason.EXPIRED, "expired"),
        (Reason.CANCELLED, "cancelled"),
        (Reason.COLLAPSED, "cancelled"),
        (Reason.READ, "cancelled"),
        (Reason.GUARDED, "suppressed"),
        (Reason.ERASED, "suppressed"),
        (Reason.TEMPLATE_FAILED, "failed"),
    ],
)
def test_what_ended_without_a_call_says_so(reason: Reason, state: str) -> None:
    outcome = not_tried(a_delivery(attempt=3), reason, "why", NOW)
    assert (outcome.state, outcome.reason, outcome.attempt, outcome.provider) == (state, reason, 0, "")


def test_what_is_put_off_is_said_before_its_attempt_and_names_until_when() -> None:
    outcome = held(a_delivery(attempt=3), LATER, NOW)
    assert (outcome.state, outcome.reason, outcome.attempt) == ("retrying", Reason.HELD, 2)
    assert (outcome.at, outcome.next_at, outcome.provider) == (NOW, LATER, "")


def test_an_outcome_names_its_delivery_and_never_its_address() -> None:
    delivery = a_delivery(
        lane="high", tenant="shop", broadcast_id="b", replay="r", traceparent="t", members=("n1", "n2")
    )
    outcome = of_answer(delivery, Sent("m-1"), Finish(), "smtp", NOW)
    same = ("delivery_id", "notification_id", "user_id", "type", "channel", "endpoint_id", "lane", "tenant")
    rest = ("accepted_at", "broadcast_id", "replay", "members", "traceparent")
    assert [getattr(outcome, n) for n in same + rest] == [getattr(delivery, n) for n in same + rest]
    assert outcome.provider_message_id == "m-1"
    assert MAILBOX.encode() not in encode(outcome)


def test_a_providers_long_words_are_cut() -> None:
    assert len(of_answer(a_delivery(), Refused("x" * 9_000), Fail(Reason.REFUSED), "smtp", NOW).detail) == 500


def test_the_next_attempt_comes_back_to_its_own_topic_and_lane_with_its_number() -> None:
    """RTY-05"""
    delivery = a_delivery(attempt=2, lane="high")
    timer = next_attempt(of_answer(delivery, TryLater("421"), RetryAt(LATER), "smtp", NOW), delivery)
    assert timer is not None
    assert (timer.target, timer.lane, timer.due_at, timer.revision) == ("deliveries.email.high", "high", LATER, 3)
    back = decode_delivery(bytes(timer.payload))
    assert (back.attempt, back.due_at, back.delivery_id) == (3, LATER, delivery.delivery_id)
    assert back.content is not None
    assert back.content.address == MAILBOX


@pytest.mark.parametrize("step", [Finish(), Fail(Reason.REFUSED), Exhausted(), Expire()])
def test_what_has_ended_does_not_come_back(step: NextStep) -> None:
    outcome = of_answer(a_delivery(), Sent(), step, "smtp", NOW)
    assert next_attempt(outcome, a_delivery()) is None


def test_all_timers_of_a_delivery_have_one_id() -> None:
    assert timer_id(a_delivery(attempt=1)) == timer_id(a_delivery(attempt=5)) == f"retry/{a_delivery().delivery_id}"
    assert timer_id(a_delivery()) != timer_id(a_delivery(endpoint_id="work"))


def test_a_postponed_delivery_comes_back_without_a_counted_attempt() -> None:
    timer = postponed(a_delivery(attempt=4), LATER)
    back: Any = decode_delivery(bytes(timer.payload))
    assert (timer.revision, back.attempt, back.due_at) == (4, 4, LATER)
