"""Facts in any order fold to one status."""

import random
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notify_streams.domain.attempts import Flag
from notify_streams.domain.status import ChannelStatus, NotificationStatus, fold, is_final, is_settled
from schemas.decisions import Collect, Defer, Deliver, Suppress, Verdict
from schemas.facts import Fact
from schemas.outcomes import OutcomeState
from schemas.words import CHANNELS, FINAL, Channel, Reason, State
from tests.facts import A_NOTIFICATION, NOON, a_decision, an_id, an_inbox_fact, an_outcome, to_mail


def status_of(*facts: Fact) -> NotificationStatus:
    status = fold(A_NOTIFICATION, facts)
    assert status is not None
    return status


def channel_of(*facts: Fact, channel: Channel = "email") -> ChannelStatus:
    return next(c for c in status_of(*facts).channels if c.channel == channel)


def of_mail(verdict: Verdict, revision: int = 0, now: int = NOON + 100) -> Fact:
    return a_decision(verdict, revision=revision, now=now)


def suppress(reason: Reason) -> Suppress:
    return Suppress(channel="email", reason=reason)


def test_without_facts_there_is_no_status() -> None:
    assert fold(A_NOTIFICATION, []) is None


def test_what_was_decided_and_has_no_outcome_is_queued_and_not_settled() -> None:
    status = status_of(a_decision())
    assert [(c.channel, c.state) for c in status.channels] == [("inapp", State.QUEUED), ("email", State.QUEUED)]
    assert (status.user_id, status.type, status.accepted_at) == ("user-42", "order.confirmed", NOON)
    assert not is_settled(status)


def test_inbox_write_and_sent_mail_are_final() -> None:
    status = status_of(a_decision(), an_inbox_fact(), an_outcome("sent", provider_message_id="<m@x>"))
    assert status.state is State.SENT
    assert status.flags == ()
    assert is_final(status)
    assert is_settled(status)
    inbox = status.channels[0].deliveries[0]
    assert [(a.provider, a.sequence) for a in inbox.attempts] == [("inbox", 17)]


def test_an_inbox_item_written_again_is_one_attempt_at_the_first_time() -> None:
    inbox = channel_of(a_decision(), an_inbox_fact(at=NOON + 900), an_inbox_fact(at=NOON + 200), channel="inapp")
    assert [a.at for a in inbox.deliveries[0].attempts] == [NOON + 200]
    assert inbox.flags == ()


@pytest.mark.parametrize(
    ("verdict", "state", "due_at"),
    [
        (Defer(channel="email", until=NOON + 9000, reason=Reason.SCHEDULED), State.DEFERRED, NOON + 9000),
        (Collect(channel="email", window="digest/orders", until=NOON, reason=Reason.DIGEST), State.COLLECTED, NOON),
        (suppress(Reason.OPTED_OUT_OF_CATEGORY), State.SUPPRESSED, None),
        (suppress(Reason.ERASED), State.SUPPRESSED, None),
        (suppress(Reason.CHANNEL_EXCLUDED), State.SUPPRESSED, None),
        (suppress(Reason.EXPIRED), State.EXPIRED, None),
        (suppress(Reason.CANCELLED), State.CANCELLED, None),
    ],
)
def test_a_verdict_that_sends_nothing_gives_its_own_state(verdict: Verdict, state: State, due_at: int | None) -> None:
    channel = channel_of(of_mail(verdict))
    assert (channel.state, channel.due_at) == (state, due_at)
    assert channel.reason == getattr(verdict, "reason", None)


def test_the_latest_revision_says_what_is_decided() -> None:
    later = Defer(channel="email", until=NOON + 9000, reason=Reason.SCHEDULED)
    assert channel_of(of_mail(to_mail("home")), of_mail(later, revision=1, now=NOON)).state is State.DEFERRED
    assert channel_of(of_mail(later, revision=1), of_mail(to_mail("home"), revision=2)).state is State.QUEUED


def test_a_channel_that_comes_back_alone_leaves_the_others_as_they_were() -> None:
    first = a_decision(Deliver(channel="inapp", endpoint_ids=("inbox",)), suppress(Reason.NO_ENDPOINT))
    again = a_decision(to_mail("home"), revision=1, now=NOON + 5000)
    states = [(c.channel, c.state) for c in status_of(first, again, an_inbox_fact()).channels]
    assert states == [("inapp", State.SENT), ("email", State.QUEUED)]


def test_being_left_out_of_a_fallback_does_not_hide_how_the_channel_ended() -> None:
    failed = an_outcome("failed", reason=Reason.REFUSED)
    fallback = a_decision(suppress(Reason.CHANNEL_EXCLUDED), revision=1, now=NOON + 5000)
    channel = channel_of(a_decision(), failed, fallback)
    assert (channel.state, channel.reason) == (State.FAILED, Reason.REFUSED)


def test_sent_beats_a_later_retry_of_an_earlier_attempt() -> None:
    channel = channel_of(
        a_decision(), an_outcome("sent", attempt=2, at=NOON + 5000), an_outcome("retrying", attempt=1, at=NOON + 9000)
    )
    assert (channel.state, channel.flags) == (State.SENT, ())


def test_a_failure_of_a_lower_attempt_after_it_was_sent_is_kept_and_flagged() -> None:
    channel = channel_of(
        a_decision(), an_outcome("sent", attempt=2, at=NOON + 5000), an_outcome("failed", attempt=1, at=NOON + 9000)
    )
    assert channel.state is State.SENT
    assert channel.flags == (Flag.REFUSED_TRANSITION,)
    assert len(channel.deliveries[0].attempts) == 2


def test_two_mails_of_one_delivery_are_told() -> None:
    channel = channel_of(a_decision(), an_outcome("sent", at=NOON + 5000), an_outcome("sent", at=NOON + 9000))
    assert channel.flags == (Flag.SENT_TWICE,)


def test_a_retry_waits_for_its_next_attempt_and_is_settled_until_that_is_overdue() -> None:
    """RTY-10 in the status: pending with reason and time."""
    retry = an_outcome("retrying", reason=Reason.PROVIDER_UNAVAILABLE, next_at=NOON + 9000)
    status = status_of(a_decision(to_mail("home")), retry)
    channel = status.channels[0]
    assert (channel.state, channel.reason) == (State.PENDING, Reason.PROVIDER_UNAVAILABLE)
    assert channel.due_at == NOON + 9000
    assert is_settled(status, overdue_before=NOON + 9000)
    assert not is_settled(status, overdue_before=NOON + 9001)
    assert not is_final(status)


def test_an_unknown_outcome_is_pending_with_that_reason() -> None:
    assert channel_of(a_decision(), an_outcome("unknown", next_at=NOON + 9000)).reason is Reason.UNKNOWN_OUTCOME


@pytest.mark.parametrize("state", ["expired", "failed"])
def test_what_ended_after_an_unknown_attempt_may_have_arrived(state: OutcomeState) -> None:
    unknown = an_outcome("unknown", at=NOON + 1000, next_at=NOON + 9000)
    ended = an_outcome(state, attempt=0 if state == "expired" else 2, at=NOON + 9500)
    channel = channel_of(a_decision(), unknown, ended)
    assert (channel.state, channel.flags) == (state, (Flag.PERHAPS_SENT,))
    sent = channel_of(a_decision(), unknown, an_outcome("sent", attempt=2, at=NOON + 9500))
    assert (sent.state, sent.flags) == (State.SENT, ())


def test_what_ends_without_a_call_comes_after_the_attempts_made_until_then() -> None:
    channel = channel_of(
        a_decision(),
        an_outcome("retrying", attempt=1, at=NOON + 1000, next_at=NOON + 3000),
        an_outcome("cancelled", attempt=0, at=NOON + 3000, reason=Reason.CANCELLED),
    )
    assert (channel.state, channel.reason) == (State.CANCELLED, Reason.CANCELLED)


def held(attempt: int, at: int) -> Fact:
    """Said before attempt number `attempt`, in place of it."""
    return an_outcome("retrying", attempt=attempt - 1, at=at, reason=Reason.HELD, next_at=at + 15_000)


def test_what_its_sender_put_off_waits_and_is_settled_until_that_is_overdue() -> None:
    status = status_of(a_decision(to_mail("home")), held(1, NOON + 1000))
    channel = status.channels[0]
    assert (channel.state, channel.reason, channel.due_at) == (State.PENDING, Reason.HELD, NOON + 16_000)
    assert is_settled(status, overdue_before=NOON + 16_000)
    assert not is_settled(status, overdue_before=NOON + 16_001)


def test_what_was_put_off_stands_after_the_attempt_before_and_until_its_own() -> None:
    first = an_outcome("retrying", attempt=1, at=NOON + 1000, reason=Reason.PROVIDER_UNAVAILABLE, next_at=NOON + 3000)
    second = an_outcome("failed", attempt=2, at=NOON + 9000, reason=Reason.REFUSED)
    assert channel_of(a_decision(), first, held(2, NOON + 3000)).reason is Reason.HELD
    assert channel_of(a_decision(), first, held(2, NOON + 3000), second).reason is Reason.REFUSED


@pytest.mark.parametrize("state", ["sent", "failed", "retrying"])
def test_an_attempt_that_was_made_and_is_put_off_when_it_comes_again_was_made(state: OutcomeState) -> None:
    made = an_outcome(state, attempt=1, at=NOON + 1000, reason=None, next_at=NOON + 9000)
    channel = channel_of(a_decision(), made, held(1, NOON + 5000))
    assert (channel.due_at, channel.flags) == (NOON + 9000, ())
    assert channel.reason is None


def test_what_was_put_off_and_then_expired_or_could_not_be_rendered_has_ended() -> None:
    for state in ("expired", "failed"):
        ended = an_outcome(state, attempt=0, at=NOON + 20_000)
        assert channel_of(a_decision(), held(1, NOON + 1000), ended).state == state


def test_a_failed_delivery_that_was_put_back_and_is_put_off_waits() -> None:
    failed = an_outcome("failed", attempt=6, at=NOON + 1000, reason=Reason.ATTEMPTS_EXHAUSTED)
    channel = channel_of(a_decision(), failed, held(7, NOON + 9000))
    assert (channel.state, channel.flags) == (State.PENDING, ())


def test_the_first_end_stands_and_another_one_is_flagged() -> None:
    channel = channel_of(
        a_decision(), an_outcome("failed", attempt=6, at=NOON + 1), an_outcome("expired", attempt=0, at=NOON + 2)
    )
    assert (channel.state, channel.flags) == (State.FAILED, (Flag.REFUSED_TRANSITION,))


def test_a_redrive_opens_a_failed_delivery_again() -> None:
    failed = an_outcome("failed", attempt=6, at=NOON + 1000)
    retrying = an_outcome("retrying", attempt=7, at=NOON + 9000, next_at=NOON + 10_000)
    sent = an_outcome("sent", attempt=8, at=NOON + 10_000)
    assert channel_of(a_decision(), failed, retrying).state is State.PENDING
    channel = channel_of(a_decision(), failed, retrying, sent)
    assert (channel.state, channel.flags) == (State.SENT, ())


def test_one_of_two_mailboxes_is_partially_sent() -> None:
    """EML group: the whole is 'partially sent'."""
    decision = a_decision(to_mail("home", "work"))
    sent, failed = an_outcome("sent"), an_outcome("failed", endpoint_id="work", reason=Reason.ENDPOINT_GONE)
    status = status_of(decision, sent, failed)
    assert status.channels[0].state is State.SENT
    assert status.flags == (Flag.PARTIALLY_SENT,)
    assert is_final(status)


def test_a_second_mailbox_that_nobody_spoke_of_is_not_settled_though_the_channel_is_sent() -> None:
    status = status_of(a_decision(to_mail("home", "work")), an_outcome("sent"))
    assert status.channels[0].state is State.SENT
    assert not is_settled(status)
    assert not is_final(status)


def test_what_was_sent_before_a_stop_arrived_says_that_it_was_too_late() -> None:
    """ORD group: what was too late says so in its status."""
    stop = of_mail(suppress(Reason.CANCELLED), revision=1, now=NOON + 2000)
    channel = channel_of(a_decision(), an_outcome("sent"), stop)
    assert (channel.state, channel.flags) == (State.SENT, (Flag.TOO_LATE_TO_STOP,))


def test_a_retry_that_was_decided_again_and_suppressed_is_suppressed() -> None:
    off = of_mail(suppress(Reason.OPTED_OUT_OF_CHANNEL), revision=1, now=NOON + 5000)
    status = status_of(of_mail(to_mail("home")), an_outcome("retrying", next_at=NOON + 4000), off)
    assert status.channels[0].state is State.SUPPRESSED
    assert is_final(status)
    assert len(status.channels[0].deliveries[0].attempts) == 1


def test_an_endpoint_that_a_later_decision_no_longer_names_does_not_hold_the_channel_up() -> None:
    status = status_of(
        of_mail(to_mail("home", "old")),
        an_outcome("retrying", endpoint_id="old", next_at=NOON + 4000),
        of_mail(to_mail("home"), revision=1, now=NOON + 5000),
        an_outcome("sent"),
    )
    assert status.channels[0].state is State.SENT
    assert status.flags == ()
    assert is_final(status)


def test_a_digest_that_was_sent_speaks_for_its_members() -> None:
    digest = an_outcome("sent", notification_id=an_id(), members=(A_NOTIFICATION,), at=NOON + 60_000)
    collected = of_mail(Collect(channel="email", window="digest/orders", until=NOON, reason=Reason.DIGEST))
    assert channel_of(collected).state is State.COLLECTED
    channel = channel_of(collected, digest)
    assert channel.state is State.SENT
    assert channel.deliveries[0].digest_id == digest.notification_id


@pytest.mark.parametrize(("hours", "off"), [(-25, True), (-24, False), (24, False), (25, True)])
def test_a_producers_time_of_another_day_is_flagged(hours: int, off: bool) -> None:
    """KAF-09"""
    flags = status_of(a_decision(event_time=NOON + hours * 3_600_000)).flags
    assert (Flag.EVENT_TIME_OFF in flags) is off


def test_outcomes_without_a_decision_are_shown_and_not_settled() -> None:
    status = status_of(an_outcome("sent"))
    assert status.flags == (Flag.UNDECIDED,)
    assert (status.user_id, status.state) == ("user-42", State.SENT)
    assert not is_settled(status)
    assert not is_final(status)


verdicts = st.one_of(
    st.builds(Deliver, channel=st.sampled_from(CHANNELS), endpoint_ids=st.sampled_from([("home",), ("home", "work")])),
    st.builds(
        Defer, channel=st.sampled_from(CHANNELS), until=st.integers(NOON, NOON + 9), reason=st.just(Reason.SCHEDULED)
    ),
    st.builds(Collect, channel=st.sampled_from(CHANNELS), window=st.just("w"), reason=st.just(Reason.SCHEDULED)),
    st.builds(Suppress, channel=st.sampled_from(CHANNELS), reason=st.sampled_from(Reason)),
)
instants = st.integers(NOON, NOON + 4)
facts = st.one_of(
    st.builds(
        lambda said, revision, now: a_decision(*said, revision=revision, now=now),
        st.lists(verdicts, min_size=1, max_size=3),
        st.integers(0, 2),
        instants,
    ),
    st.builds(
        an_outcome,
        st.sampled_from(get_args(OutcomeState)),
        channel=st.sampled_from(CHANNELS[:2]),
        endpoint_id=st.sampled_from(["home", "work", "inbox"]),
        attempt=st.integers(0, 3),
        at=instants,
        notification_id=st.sampled_from([A_NOTIFICATION, "11111111-2222-5333-8444-555555555555"]),
        reason=st.none() | st.sampled_from(Reason),
        next_at=st.none() | instants,
    ),
    st.builds(an_inbox_fact, sequence=st.integers(1, 2), at=instants),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(facts, min_size=1, max_size=9), st.randoms(use_true_random=False))
def test_order_and_repeats_do_not_matter(known: list[Fact], chance: random.Random) -> None:
    again = known + chance.choices(known, k=len(known))
    chance.shuffle(again)
    assert fold(A_NOTIFICATION, again) == fold(A_NOTIFICATION, known)


@settings(max_examples=200, deadline=None)
@given(st.lists(facts, min_size=1, max_size=9))
def test_what_is_final_is_settled_and_what_was_sent_stays_sent(known: list[Fact]) -> None:
    status = status_of(*known)
    assert is_settled(status, overdue_before=NOON + 10**6) or not is_final(status)
    for channel in status.channels:
        sent = any(d.state is State.SENT for d in channel.deliveries)
        assert (channel.state is State.SENT) is sent
        assert channel.state in FINAL or not is_final(status)
