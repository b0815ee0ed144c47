"""What providers say later, in every order: it only ever takes a delivery further."""

import random
from itertools import permutations
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notify_streams.domain.attempts import DeliveryStatus, Flag
from notify_streams.domain.status import fold, is_final
from schemas.decisions import Collect, Deliver, Suppress
from schemas.facts import Fact
from schemas.outcomes import OutcomeState, OutcomeV1
from schemas.receipts import ReceiptState, ReceiptV1
from schemas.words import Channel, Reason, State
from tests.facts import A_NOTIFICATION, NOON, a_decision, a_receipt, an_id, an_outcome

NOISY: tuple[Channel, ...] = ("email", "sms", "push", "webhook")


def decided(channel: Channel = "email") -> Fact:
    return a_decision(Deliver(channel=channel, endpoint_ids=("home",)))


def delivery_of(*facts: Fact) -> DeliveryStatus:
    status = fold(A_NOTIFICATION, facts)
    assert status is not None
    [channel] = status.channels
    [delivery] = channel.deliveries
    assert channel.state is delivery.state
    return delivery


def an_sms(state: ReceiptState, at: int, **fields: Any) -> ReceiptV1:
    return a_receipt(state, channel="sms", at=NOON + at, provider="twilio", **fields)


def test_text_message_receipts_in_any_order_are_one_delivery() -> None:
    """SMS-07: all 24 orders of queued, sent, delivered, delivered."""
    second = an_sms("delivered", 4000, receipt_id="the same event")
    said = [an_sms("queued", 1000), an_sms("sent", 2000), an_sms("delivered", 3000, receipt_id="the same event")]
    stories = {
        (d.state, d.delivered_at, len(d.receipts), d.flags)
        for order in permutations([*said, second])
        for d in [delivery_of(decided("sms"), an_outcome("sent", channel="sms"), *order)]
    }
    assert stories == {(State.DELIVERED, NOON + 3000, 3, ())}


def test_a_receipt_that_comes_before_our_own_answer_is_not_undone_by_it() -> None:
    """ORD-02: "delivered" is there before the provider has answered the call, and stays."""
    early = an_sms("delivered", 100)
    assert delivery_of(decided("sms"), early).state is State.DELIVERED
    late: tuple[OutcomeV1, ...] = (
        an_outcome("sent", channel="sms", at=NOON + 900),
        an_outcome("unknown", channel="sms", at=NOON + 900, next_at=NOON + 9000),
        an_outcome("retrying", channel="sms", at=NOON + 900, next_at=NOON + 9000),
    )
    for outcome in late:
        delivery = delivery_of(decided("sms"), early, outcome)
        assert (delivery.state, delivery.due_at, delivery.flags) == (State.DELIVERED, None, ())


def test_what_was_delivered_never_times_out_later() -> None:
    """ORD-02: nor does an expiry take it back; that the two contradict each other is flagged."""
    expired = an_outcome("expired", channel="sms", attempt=0, at=NOON + 9000, reason=Reason.EXPIRED)
    delivery = delivery_of(decided("sms"), an_sms("delivered", 100), expired)
    assert (delivery.state, delivery.flags) == (State.DELIVERED, (Flag.REFUSED_TRANSITION,))


def test_a_delayed_mail_has_not_failed() -> None:
    """EML-05: sent, then delivered; it never counts as bounced."""
    delayed, delivered = a_receipt("delayed", at=NOON + 2000), a_receipt("delivered", at=NOON + 9000)
    waiting = delivery_of(decided(), an_outcome("sent"), delayed)
    assert (waiting.state, waiting.flags) == (State.SENT, ())
    arrived = delivery_of(decided(), delivered, delayed, an_outcome("sent"))
    assert (arrived.state, arrived.delivered_at, arrived.flags) == (State.DELIVERED, NOON + 9000, ())


@pytest.mark.parametrize(
    ("channel", "delivered", "bounced", "state", "flags"),
    [
        ("email", 2000, 3000, State.FAILED, ()),
        ("email", 3000, 2000, State.DELIVERED, (Flag.REFUSED_TRANSITION,)),
        ("email", 2000, 2000, State.DELIVERED, (Flag.REFUSED_TRANSITION,)),
        ("sms", 2000, 3000, State.DELIVERED, (Flag.REFUSED_TRANSITION,)),
        ("sms", 3000, 2000, State.DELIVERED, (Flag.REFUSED_TRANSITION,)),
        ("push", 2000, 3000, State.DELIVERED, (Flag.REFUSED_TRANSITION,)),
    ],
)
@pytest.mark.parametrize("lost", ["bounced", "failed"])
def test_contradictions_are_decided_by_channel_and_event_time(
    channel: Channel, delivered: int, bounced: int, lost: ReceiptState, state: State, flags: tuple[Flag, ...]
) -> None:
    """Pinned rule 9: mail goes by the later one, a text message that was delivered is delivered."""
    receipts = [a_receipt("delivered", channel=channel, at=NOON + delivered)]
    receipts.append(a_receipt(lost, channel=channel, at=NOON + bounced))
    facts: list[Fact] = [*receipts, an_outcome("sent", channel=channel)]
    for order in permutations(facts):
        delivery = delivery_of(decided(channel), *order)
        assert (delivery.state, delivery.flags) == (state, flags)
    assert len(delivery.receipts) == 2


def test_what_came_back_has_failed_and_says_why() -> None:
    bounced = delivery_of(decided(), an_outcome("sent"), a_receipt("bounced", permanent=True, detail="5.1.1"))
    assert (bounced.state, bounced.reason, bounced.at) == (State.FAILED, Reason.BOUNCED, NOON + 2000)
    undelivered = delivery_of(decided("sms"), an_outcome("sent", channel="sms"), an_sms("failed", 2000))
    assert (undelivered.state, undelivered.reason) == (State.FAILED, Reason.UNDELIVERED)


def test_a_bounced_mail_that_somebody_opens_stays_bounced_and_is_flagged() -> None:
    read, bounced = a_receipt("read", at=NOON + 4000), a_receipt("bounced", at=NOON + 3000)
    delivery = delivery_of(decided(), an_outcome("sent"), a_receipt("delivered"), bounced, read)
    assert (delivery.state, delivery.flags) == (State.FAILED, (Flag.REFUSED_TRANSITION,))


def test_what_was_read_had_arrived() -> None:
    delivery = delivery_of(decided(), an_outcome("sent"), a_receipt("read", at=NOON + 7000), a_receipt("read"))
    assert (delivery.state, delivery.delivered_at, delivery.read_at) == (State.DELIVERED, NOON + 2000, NOON + 2000)


def test_a_complaint_is_a_flag_of_a_mail_that_arrived() -> None:
    delivery = delivery_of(decided(), an_outcome("sent"), a_receipt("complained"), a_receipt("delivered"))
    assert (delivery.state, delivery.flags) == (State.DELIVERED, (Flag.COMPLAINED,))


@pytest.mark.parametrize("state", ["queued", "sent", "delayed"])
def test_a_receipt_settles_what_nobody_knew(state: ReceiptState) -> None:
    unknown = an_outcome("unknown", next_at=NOON + 600_000)
    delivery = delivery_of(decided(), unknown, a_receipt(state))
    assert (delivery.state, delivery.reason, delivery.due_at) == (State.SENT, None, None)
    expired = an_outcome("expired", attempt=0, at=NOON + 700_000, reason=Reason.UNKNOWN_OUTCOME)
    assert delivery_of(decided(), unknown, expired).flags == (Flag.PERHAPS_SENT,)
    assert delivery_of(decided(), unknown, expired, a_receipt(state)).state is State.SENT


def test_a_failed_copy_does_not_fail_the_one_that_was_sent_after_it() -> None:
    facts: list[Fact] = [
        an_outcome("unknown", provider="ses"),
        an_outcome("sent", attempt=2, provider="ses", provider_message_id="m-2"),
    ]
    assert delivery_of(decided(), *facts, a_receipt("bounced", provider_message_id="m-1")).state is State.SENT
    assert delivery_of(decided(), *facts, a_receipt("bounced", provider_message_id="m-2")).state is State.FAILED
    assert delivery_of(decided(), *facts, a_receipt("bounced")).state is State.FAILED


def test_a_failure_of_an_earlier_copy_does_not_end_what_is_tried_again() -> None:
    retrying = an_outcome("retrying", attempt=2, next_at=NOON + 9000)
    delivery = delivery_of(decided(), an_outcome("unknown"), retrying, a_receipt("bounced"))
    assert (delivery.state, delivery.due_at) == (State.PENDING, NOON + 9000)


def test_a_message_that_the_provider_refused_is_not_sent_by_a_receipt_that_only_says_queued() -> None:
    refused = an_outcome("failed", reason=Reason.REFUSED)
    delivery = delivery_of(decided(), refused, a_receipt("queued"))
    assert (delivery.state, delivery.flags) == (State.FAILED, (Flag.REFUSED_TRANSITION,))


def test_a_digests_receipts_reach_its_members() -> None:
    digest = an_outcome("sent", notification_id=an_id(), members=(A_NOTIFICATION,), at=NOON + 60_000)
    receipt = a_receipt("bounced", notification_id=digest.notification_id, at=NOON + 61_000)
    collected = a_decision(Collect(channel="email", window="digest/orders", until=NOON, reason=Reason.DIGEST))
    delivery = delivery_of(collected, digest, receipt)
    assert (delivery.state, delivery.digest_id) == (State.FAILED, digest.notification_id)


def test_receipts_alone_are_shown_and_nothing_is_final_without_a_decision() -> None:
    status = fold(A_NOTIFICATION, [a_receipt("delivered")])
    assert status is not None
    assert (status.state, status.user_id, status.flags) == (State.DELIVERED, "user-42", (Flag.UNDECIDED,))
    assert not is_final(status)


def test_too_late_to_stop_holds_of_what_was_delivered() -> None:
    stop = a_decision(Suppress(channel="email", reason=Reason.CANCELLED), revision=1, now=NOON + 1500)
    status = fold(A_NOTIFICATION, [decided(), an_outcome("sent"), stop, a_receipt("delivered")])
    assert status is not None
    assert (status.state, status.flags) == (State.DELIVERED, (Flag.TOO_LATE_TO_STOP,))


instants = st.integers(NOON, NOON + 4)
STATES = get_args(ReceiptState)


def some_facts(channel: Channel) -> st.SearchStrategy[list[Fact]]:
    outcomes = st.builds(
        an_outcome,
        st.sampled_from(get_args(OutcomeState)),
        channel=st.just(channel),
        attempt=st.integers(0, 3),
        at=instants,
        provider=st.just("ses"),
        provider_message_id=st.none() | st.sampled_from(["m-1", "m-2"]),
    )
    receipts = st.builds(
        a_receipt,
        st.sampled_from(STATES),
        channel=st.just(channel),
        at=instants,
        provider_message_id=st.none() | st.sampled_from(["m-1", "m-2"]),
    )
    return st.lists(outcomes | receipts, min_size=1, max_size=8)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(NOISY).flatmap(lambda c: st.tuples(st.just(c), some_facts(c))), st.randoms())
def test_order_and_copies_do_not_matter(known: tuple[Channel, list[Fact]], chance: random.Random) -> None:
    channel, facts = known
    again = facts + chance.choices(facts, k=len(facts))
    chance.shuffle(again)
    assert delivery_of(decided(channel), *again) == delivery_of(decided(channel), *facts)


_FORWARD = {State.QUEUED: 0, State.PENDING: 0, State.SENT: 1, State.FAILED: 2, State.DELIVERED: 3}


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(STATES), instants), max_size=6), st.sampled_from(["sms", "push"]))
def test_no_receipt_ever_moves_a_delivery_back(said: list[tuple[ReceiptState, int]], channel: Channel) -> None:
    """ORD-02: in whatever order they arrive; where times decide (mail) the last of them counts, see above."""
    known: list[Fact] = [decided(channel), an_outcome("sent", channel=channel)]
    reached = _FORWARD[delivery_of(*known).state]
    for state, at in said:
        known.append(a_receipt(state, channel=channel, at=at))
        stands = _FORWARD[delivery_of(*known).state]
        assert stands >= reached
        reached = stands


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(STATES), instants), max_size=6))
def test_a_mail_that_was_sent_is_never_less_than_sent(said: list[tuple[ReceiptState, int]]) -> None:
    facts = [a_receipt(state, at=at) for state, at in said]
    delivery = delivery_of(decided(), an_outcome("sent"), *facts)
    assert delivery.state in (State.SENT, State.DELIVERED, State.FAILED)
    lost = [at for state, at in said if state in ("bounced", "failed")]
    arrived = [at for state, at in said if state == "delivered"]
    if lost and arrived:
        assert (delivery.state is State.FAILED) is (max(lost) > max(arrived))
