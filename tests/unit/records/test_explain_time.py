"""The story of what waited: in quiet hours, in windows, for a digest; and of digests themselves."""

from typing import Any

import msgspec
import pytest

from notify_streams.domain.digests import digest, not_sent
from notify_streams.records.explain import Story, explain
from notify_streams.records.verdicts import clock
from schemas.catalogue import Windows
from schemas.decisions import Collect, DecisionV1, Defer, Deliver, ProfileSlice, StateSlice, Suppress, Verdict
from schemas.facts import Fact
from schemas.notifications import NotificationV1
from schemas.user_state import Window
from schemas.words import Reason
from tests.facts import A_NOTIFICATION, NOON, a_decision, a_notification, an_inbox_fact, an_outcome

HOUR = 3_600_000
TO_PHONE = Deliver(channel="push", endpoint_ids=("phone",))
COLLECTED = Collect(channel="push", window="digest/social", until=NOON + HOUR, reason=Reason.DIGEST)
OFF = Suppress(channel="push", reason=Reason.OPTED_OUT_OF_CATEGORY)


def story_of(*facts: Fact, of: str = A_NOTIFICATION) -> Story:
    story = explain(of, facts)
    assert story is not None
    return story


def decided(
    *verdicts: Verdict, state: StateSlice | None = None, zone: str | None = None, now: int = NOON + 100, **fields: Any
) -> DecisionV1:
    """Of a push for somebody who lives there."""
    plain = a_decision(*verdicts, now=now, **{"channels": ("push",), **fields})
    return msgspec.structs.replace(plain, profile=ProfileSlice(version=7, zone=zone), state=state or StateSlice())


def decided_of(digest: NotificationV1) -> DecisionV1:
    return msgspec.structs.replace(decided(TO_PHONE), notification=digest)


def a_digest(window: str = "digest/social", count: int = 7) -> NotificationV1:
    items = [a_notification(f"{n:08x}-2222-5333-8444-555555555555", aggregation_key="post:9") for n in range(count)]
    over = Window(
        3, "push", window, "low", Reason.DIGEST, "", opened_at=NOON - HOUR, due_at=NOON, count=count, closed_at=NOON
    )
    return digest(over, "user-42", items, Windows())


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (
            Defer(channel="push", until=NOON + HOUR, reason=Reason.QUIET_HOURS),
            "push waits until 2026-09-21 15:13:20.000Z (20:43 in Asia/Kolkata), because it is the user's quiet hours",
        ),
        (
            COLLECTED,
            "push waits for the digest of social until 2026-09-21 15:13:20.000Z (20:43 in Asia/Kolkata), because the "
            "user wants this category as a digest",
        ),
        (
            Collect(channel="push", window="digest/social", until=NOON + HOUR, reason=Reason.BUDGET_SPENT),
            "push waits for the digest of social until 2026-09-21 15:13:20.000Z (20:43 in Asia/Kolkata), because the "
            "user has had as many notifications as one may get in an hour or a day",
        ),
        (
            Collect(channel="push", window="group/social.like/post:9/a", until=NOON + HOUR, reason=Reason.AGGREGATED),
            "push waits for more of social.like about post:9/a until 2026-09-21 15:13:20.000Z (20:43 in "
            "Asia/Kolkata), because more about the same thing may follow, and they go together",
        ),
        (
            Deliver(channel="push", endpoint_ids=("phone", "tablet"), hold_from=NOON + HOUR),
            "send it by push to phone and tablet, before it is quiet at 2026-09-21 15:13:20.000Z (20:43 in "
            "Asia/Kolkata)",
        ),
        (
            Suppress(channel="push", reason=Reason.QUIET_PAST_EXPIRY),
            "not by push, because the user's quiet hours end only after it expires",
        ),
    ],
)
def test_every_verdict_about_time_says_until_when_where_the_user_lives_and_why(verdict: Verdict, words: str) -> None:
    [_, line] = story_of(decided(verdict, zone="Asia/Kolkata")).lines
    assert line.text == f"decided: {words}"


def test_a_zone_that_is_none_is_left_out() -> None:
    assert clock(NOON, "Nowhere/Else") == clock(NOON, None) == "2026-09-21 14:13:20.000Z"


def test_what_waits_in_a_window_says_for_what_at_the_end_too() -> None:
    assert story_of(decided(COLLECTED)).ending == (
        "Push: waits for the digest of social, because the user wants this category as a digest.",
    )


def test_what_came_back_says_that_it_was_decided_again_and_for_whom() -> None:
    sent_back = decided(TO_PHONE, revision=1, endpoint_id="phone", now=NOON + 500)
    timed = decided(TO_PHONE, revision=2, now=NOON + 900)
    lines = [line.text for line in story_of(decided(TO_PHONE), sent_back, timed).lines]
    assert lines[2:] == [
        "decided again for phone (revision 1): send it by push to phone",
        "decided again (revision 2): send it by push to phone",
    ]


def test_of_an_endpoint_that_came_back_only_that_is_named_unless_it_is_no_more() -> None:
    both = Deliver(channel="push", endpoint_ids=("phone", "tablet"))
    told = [decided(both, revision=1, endpoint_id=e, now=NOON + 500) for e in ("tablet", "gone")]
    assert [story_of(decision).lines[-1].text for decision in told] == [
        "decided again for tablet (revision 1): send it by push to tablet",
        "decided again for gone (revision 1): send it by push to phone and tablet",
    ]


def test_a_member_names_the_digest_that_spoke_for_it() -> None:
    made = a_digest(count=1)
    sent = an_outcome(
        notification_id=made.notification_id, channel="push", endpoint_id="phone", members=made.members, provider="fcm"
    )
    story = story_of(decided(COLLECTED, notification_id=made.members[0]), sent, of=made.members[0])
    assert story.lines[-1].text == f"push to phone, in the digest {made.notification_id}, attempt 1 through fcm: sent"
    assert story.ending[0] == f"Push: sent in the digest {made.notification_id}."


def test_a_member_of_a_digest_that_was_not_sent_says_why() -> None:
    made = a_digest(count=1)
    story = story_of(
        decided(COLLECTED, notification_id=made.members[0]), not_sent(made, OFF, NOON + HOUR), of=made.members[0]
    )
    assert story.lines[-1].text == (
        f"push, in the digest {made.notification_id}, without an attempt: suppressed, because the user has switched "
        "the category off on this channel"
    )


def test_what_was_left_out_of_its_digest_says_why() -> None:
    left_out = decided(OFF, revision=1, state=StateSlice(joining=True), now=NOON + HOUR)
    story = story_of(decided(COLLECTED), left_out)
    assert story.lines[-1].text == (
        "left out when its digest was made up: not by push, because the user has switched the category off on this "
        "channel"
    )


def test_a_digest_says_of_what_it_is_and_for_whom_it_speaks() -> None:
    made = a_digest()
    story = story_of(decided_of(made), of=made.notification_id)
    assert story.headline == "A digest of social by push for user-42: 7 notifications"
    first, *_, last = made.members[:5]
    assert story.lines[0].text.startswith(f"made up, to be sent before 2026-09-21 15:13:20.000Z; it speaks for {first}")
    assert story.lines[0].text.endswith(f"{last} and 2 more")


@pytest.mark.parametrize(("count", "words"), [(1, "1 notification"), (3, "3 notifications told as one")])
def test_an_aggregation_says_what_it_is_about(count: int, words: str) -> None:
    made = a_digest("group/order.confirmed/post:9", count)
    story = story_of(decided_of(made), of=made.notification_id)
    assert story.headline == f"order.confirmed about post:9 by push for user-42: {words}"


@pytest.mark.parametrize(
    ("reason", "ending"),
    [
        (Reason.CANCELLED, "Push: cancelled before it was sent."),
        (Reason.COLLAPSED, "Push: cancelled, because a newer one under the same collapse key has replaced it."),
        (Reason.READ, "Push: cancelled, because the user had read it in the inbox."),
        (Reason.ERASED, "Push: suppressed, because the user's data was erased."),
        (Reason.QUIET_PAST_EXPIRY, "Push: expired, because the user's quiet hours end only after it expires."),
    ],
)
def test_what_was_stopped_says_so(reason: Reason, ending: str) -> None:
    waits = Defer(channel="push", until=NOON + HOUR, reason=Reason.QUIET_HOURS)
    stopped = decided(Suppress(channel="push", reason=reason), revision=1, now=NOON + 500)
    assert story_of(decided(waits), stopped).ending == (ending,)


def test_what_was_sent_before_it_was_stopped_says_that_it_was_too_late() -> None:
    stopped = decided(Suppress(channel="push", reason=Reason.CANCELLED), revision=1, now=NOON + 5_000)
    sent = an_outcome(channel="push", endpoint_id="phone", at=NOON + 1_000)
    story = story_of(decided(TO_PHONE), sent, stopped, an_inbox_fact())
    assert "It was stopped, but too late: it had been sent." in story.ending
