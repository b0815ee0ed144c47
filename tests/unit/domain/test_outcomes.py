"""What is published about a delivery, and what brings it back."""

from typing import Any

import pytest

from notify_streams.domain.answers import Answer, EndpointGone, Misconfigured, Refused, Sent, TryLater, Unknown
from notify_streams.domain.outcomes import (
    held,
    is_in_doubt,
    next_attempt,
    not_tried,
    of_answer,
    postponed,
    settled,
    timer_id,
)
from notify_streams.domain.retry import Exhausted, Expire, Fail, FailOver, Finish, NextStep, RetryAt, SettleAt
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
        (TryLater("503"), FailOver(), "retrying", Reason.FAILED_OVER, NOW),
        (Misconfigured("401"), RetryAt(LATER), "retrying", Reason.MISCONFIGURED, LATER),
        (Unknown("cut"), RetryAt(LATER), "retrying", Reason.UNKNOWN_OUTCOME, LATER),
        (Refused("552", "mailbox_full"), Fail(Reason.MAILBOX_FULL), "failed", Reason.MAILBOX_FULL, None),
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


def test_segments_of_a_text_are_said() -> None:
    """TPL-15: as they were sent."""
    assert of_answer(a_delivery(channel="sms"), Sent("SM1", segments=3), Finish(), "twilio", NOW).segments == 3


def test_what_a_receipt_has_settled_was_sent_by_whom_and_when_it_says() -> None:
    outcome = settled(a_delivery(attempt=2), "ses", "m-1", 1, NOW)
    assert (outcome.state, outcome.reason, outcome.provider) == ("sent", Reason.SETTLED, "ses")
    assert (outcome.provider_message_id, outcome.attempt, outcome.at) == ("m-1", 1, NOW)


@pytest.mark.parametrize(
    ("answer", "step", "counts", "avoid", "by", "uncounted", "in_doubt"),
    [
        (TryLater("421"), RetryAt(LATER), True, (), "", 1, False),
        (TryLater("421"), RetryAt(LATER), False, (), "", 2, False),
        (TryLater("503"), FailOver(), True, ("apns", "ses"), "", 2, False),
        (Misconfigured("401"), RetryAt(LATER), True, (), "", 2, False),
        (Unknown("cut"), RetryAt(LATER), True, (), "ses", 1, True),
        (Unknown("cut"), SettleAt(LATER), True, (), "ses", 1, True),
    ],
)
def test_the_next_attempt_knows_whom_to_avoid_who_may_have_it_and_what_does_not_count(
    answer: Answer, step: NextStep, counts: bool, avoid: tuple[str, ...], by: str, uncounted: int, in_doubt: bool
) -> None:
    delivery = a_delivery(avoid=("apns",), uncounted=1)
    outcome = of_answer(delivery, answer, step, "ses", NOW)
    timer = next_attempt(outcome, delivery, counts=counts)
    assert timer is not None
    back = decode_delivery(bytes(timer.payload))
    assert (back.avoid, back.by, back.uncounted, is_in_doubt(outcome)) == (avoid, by, uncounted, in_doubt)


def test_whatever_bytes_a_provider_names_a_message_by_the_outcome_can_be_published() -> None:
    """Headers of HTTP that are no UTF-8 come as lone surrogates, which no record can hold."""
    outcome = of_answer(a_delivery(), Sent("m-\udcff", detail="ü \udc80"), Finish(), "sendgrid", NOW)
    assert (outcome.provider_message_id, outcome.detail) == ("m-?", "ü ?")
    assert encode(outcome)
