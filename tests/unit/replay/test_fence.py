"""Whether a channel has had its effect: by notification and channel, never by endpoint, as the facts have it."""

from typing import Any

import msgspec
import pytest

from notify_streams.domain.ids import delivery_id
from notify_streams.replay.fence import GRACE_MS, OVERDUE_MS, Clock, judge
from schemas.decisions import Collect, Defer, Deliver, Suppress
from schemas.facts import Fact
from schemas.outcomes import OutcomeState
from schemas.words import Reason
from tests.facts import NOON, a_decision, a_notification, a_receipt, an_inbox_fact, an_outcome, to_mail

AT = Clock(NOON + 1_800_000, kept_since=0, settled=True)
TO_INBOX = Deliver(channel="inapp", endpoint_ids=("inbox",))


def of_mail(*facts: Fact, clock: Clock = AT, **fields: Any) -> str:
    return judge(a_notification(channels=("email",), **fields), facts, clock)["email"]


def test_each_channel_is_judged_by_itself() -> None:
    facts: list[Fact] = [a_decision(), an_inbox_fact()]
    assert judge(a_notification(), facts, AT) == {"inapp": "sent", "email": "missing"}


def test_of_what_nothing_is_recorded_it_is_missing() -> None:
    assert judge(a_notification(), [], AT) == {"inapp": "missing", "email": "missing"}


@pytest.mark.parametrize(
    ("state", "term"),
    [
        ("sent", "sent"),
        ("failed", "failed"),
        ("expired", "expired"),
        ("suppressed", "suppressed"),
        ("cancelled", "cancelled"),
    ],
)
def test_an_end_is_an_effect_whatever_it_was(state: OutcomeState, term: str) -> None:
    assert of_mail(a_decision(), an_outcome(state)) == term


def test_what_a_receipt_says_later_is_an_effect_too() -> None:
    assert of_mail(a_decision(), an_outcome(), a_receipt("bounced", permanent=True)) == "failed"
    assert of_mail(a_receipt("delivered")) == "sent"


def test_an_outcome_without_its_decision_is_an_effect() -> None:
    assert of_mail(an_outcome()) == "sent"


@pytest.mark.parametrize("state", ["retrying", "unknown"])
def test_what_waits_for_another_attempt_is_not_missing(state: OutcomeState) -> None:
    waits = an_outcome(state, next_at=AT.now + 1)
    assert of_mail(a_decision(), waits) == "waiting"
    late = msgspec.structs.replace(waits, next_at=AT.now - OVERDUE_MS - 1)
    assert of_mail(a_decision(), late) == "overdue"


def test_what_is_deferred_or_collected_or_decided_against_is_not_missing() -> None:
    defer = Defer(channel="email", until=AT.now + 1, reason=Reason.QUIET_HOURS)
    collect = Collect(channel="email", window="digest/social", until=AT.now + 1, reason=Reason.DIGEST)
    off = Suppress(channel="email", reason=Reason.OPTED_OUT_OF_CHANNEL)
    assert [of_mail(a_decision(v)) for v in (defer, collect, off)] == ["waiting", "collected", "suppressed"]
    assert of_mail(a_decision(msgspec.structs.replace(defer, until=AT.now - OVERDUE_MS - 1))) == "overdue"


def test_after_the_user_has_changed_address_what_went_to_the_old_one_counts() -> None:
    later = a_decision(to_mail("new"), revision=1, now=NOON + 5_000, profile_version=8)
    assert of_mail(a_decision(to_mail("old")), an_outcome(endpoint_id="old"), later) == "sent"


def test_of_two_endpoints_the_one_that_was_reached_counts() -> None:
    decided = a_decision(to_mail("home", "work"))
    assert of_mail(decided, an_outcome("failed", endpoint_id="work")) == "failed"
    assert of_mail(decided, an_outcome("retrying", endpoint_id="work", next_at=AT.now + 1)) == "waiting"
    assert of_mail(decided) == "missing"


def test_a_digest_that_spoke_for_it_is_its_effect() -> None:
    digest = "1c8f4a5e-2b1d-5a3c-9f00-aa11bb22cc33"
    notification = a_notification(channels=("email",))
    spoke = an_outcome(notification_id=digest, endpoint_id="home", members=(notification.notification_id,))
    assert spoke.delivery_id == delivery_id(digest, "email", "home")
    collect = Collect(channel="email", window="digest/social", until=NOON + 200, reason=Reason.DIGEST)
    assert of_mail(a_decision(collect), spoke) == "sent"


def test_what_has_expired_meanwhile_is_late_and_not_missing() -> None:
    assert of_mail(a_decision(), expires_at=AT.now) == "late"
    assert of_mail(a_decision(), expires_at=AT.now + 1) == "missing"


def test_older_than_the_facts_are_kept_nobody_can_tell() -> None:
    clock = msgspec.structs.replace(AT, kept_since=NOON + 1)
    assert of_mail(clock=clock) == "forgotten"
    assert of_mail(a_decision(), an_outcome(), clock=clock) == "sent"


def test_while_something_is_under_way_what_is_young_is_not_missing_yet() -> None:
    unsettled = Clock(NOON + GRACE_MS - 1, 0, settled=False)
    assert of_mail(clock=unsettled) == "under_way"
    assert of_mail(clock=msgspec.structs.replace(unsettled, settled=True)) == "missing"
    assert of_mail(clock=msgspec.structs.replace(unsettled, now=NOON + GRACE_MS)) == "missing"
    decided = a_decision(to_mail("home"), now=NOON + 90_000)
    assert of_mail(decided, clock=msgspec.structs.replace(unsettled, now=NOON + GRACE_MS)) == "under_way"


def test_a_decision_without_any_channel_is_no_effect() -> None:
    nothing = msgspec.structs.replace(a_decision(), verdicts=())
    assert of_mail(nothing) == "missing"
