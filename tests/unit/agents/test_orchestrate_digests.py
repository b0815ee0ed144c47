"""Items in, windows ended, digests out; and what a repeat in the middle of it leaves."""

import msgspec
import pytest

from agents.orchestrate import Orchestrator
from notify_streams.domain.dedup import print_of
from notify_streams.domain.send_back import send_back
from notify_streams.domain.windows import key_of, timer_of
from schemas.codec import encode
from schemas.decisions import Collect, Deliver, Suppress
from schemas.notifications import decode_notification
from schemas.outcomes import OutcomeV1, decode_outcome
from schemas.profiles import QuietHours
from schemas.timers import PutTimerV1, decode_operation
from schemas.user_state import Stopped
from schemas.words import Reason
from tests.builders import DAY, HOUR, MINUTE, NOW, a_profile, a_type, an_endpoint
from tests.fakes import Clock, Recording, Table, arrived
from tests.one_orchestrator import (
    CATALOGUE,
    HOURLY,
    a_like,
    an_orchestrator,
    decisions,
    decode_flush,
    end,
    mails,
    set_profile,
    take,
    timer_in,
    timers_in,
)


@pytest.fixture
def role(state_table: Table, profile_table: Table, clock: Clock) -> Orchestrator:
    return an_orchestrator(state_table, profile_table, clock)


def test_three_events_within_a_second_are_one_mail_in_their_order(role: Orchestrator, clock: Clock) -> None:
    """DIG-01."""
    likes = [a_like(f"u{number}", accepted_at=NOW + number) for number in range(3)]
    first, *others = [take(role, like) for like in (likes[1], likes[0], likes[2])]
    assert all(out.of("deliveries.inapp.normal") and not mails(out) for out in (first, *others))
    assert all(not out.of("timers") for out in others)

    outgoing = end(role, timer_in(first), clock)
    [mail] = mails(outgoing)
    assert mail.members == tuple(like.notification_id for like in likes)
    assert mail.content is not None
    assert mail.content.group is not None
    assert mail.content.group.count == 3
    assert mail.content.address == "ann@example.com"
    [decided] = decisions(outgoing)
    assert decided.notification.notification_id == mail.notification_id
    assert decided.notification.source == "/digest"


def test_a_verdict_says_which_digest_it_waits_for_and_until_when(role: Orchestrator) -> None:
    [decided] = decisions(take(role, a_like()))
    assert decided.verdicts[1] == Collect(
        channel="email", window="digest/social", until=NOW - NOW % HOUR + HOUR, reason=Reason.DIGEST
    )


def test_a_second_end_of_the_same_window_sends_the_same_bytes_until_its_items_are_gone(
    role: Orchestrator, clock: Clock
) -> None:
    timer = timer_in(take(role, a_like()))
    first = end(role, timer, clock)
    second = end(role, timer, clock, timer.due_at + 5_000)
    assert [r for r in first.records if r.topic != "state-log"] == [r for r in second.records if r.topic != "state-log"]

    ended = role.take(arrived(bytes(timer.payload)), Recording())
    assert ended is not None
    partition, user, key, number = ended
    role.states.empty(partition, user, key, number, Recording())
    assert mails(end(role, timer, clock)) == []


def test_an_ended_window_is_forgotten_a_day_later_with_all_that_is_left_in_it(role: Orchestrator, clock: Clock) -> None:
    outgoing = end(role, timer_in(take(role, a_like())), clock)
    over = timers_in(outgoing)["over"]
    assert over.due_at == clock.now + DAY
    end(role, over, clock)
    assert role.states.windows(0, b"ann") == []
    assert role.states.items(0, b"\x00\x03annw", b"\x00\x03annx", 9) == []


def test_a_window_that_is_open_is_not_forgotten(role: Orchestrator, clock: Clock) -> None:
    timer = timer_in(take(role, a_like()))
    early = msgspec.structs.replace(decode_flush(timer), over=True)
    role.take(arrived(encode(early)), Recording())
    assert len(mails(end(role, timer, clock))) == 1


def test_an_item_met_again_is_not_in_two_digests(role: Orchestrator, clock: Clock) -> None:
    """DIG-07 under a crash: the event is repeated before and after its window was ended."""
    like = a_like()
    timer = timer_in(take(role, like))
    assert timer_in(take(role, like)) == timer
    [mail] = mails(end(role, timer, clock))
    assert mail.members == (like.notification_id,)
    again = take(role, like)
    assert again.of("timers") == []
    assert [type(v) for v in decisions(again)[0].verdicts] == [Deliver, Collect]
    next_ = timer_in(take(role, a_like()))
    [mail] = mails(end(role, next_, clock))
    assert like.notification_id not in mail.members


def test_what_waits_already_is_not_sent_at_once_when_it_is_met_again_under_another_profile(
    role: Orchestrator, clock: Clock
) -> None:
    like = a_like()
    timer = timer_in(take(role, like))
    set_profile(role)
    again = take(role, like)
    assert mails(again) == []
    assert [v.channel for v in decisions(again)[0].verdicts] == ["inapp"]
    assert len(mails(end(role, timer, clock))) == 1


def test_preferences_expiry_and_stops_are_asked_again_of_each_item(role: Orchestrator, clock: Clock) -> None:
    stays, late, cancelled = a_like("a"), a_like("b", expires_at=NOW + MINUTE), a_like("c")
    timer = timer_in(take(role, stays))
    for like in (late, cancelled):
        take(role, like)
    state = role.states.load(0, b"ann")
    stopped = {print_of(cancelled.notification_id): Stopped(NOW + DAY, Reason.READ, ("email",))}
    role.states.store(0, b"ann", msgspec.structs.replace(state, stopped=stopped), Recording())

    outgoing = end(role, timer, clock)
    [mail] = mails(outgoing)
    assert mail.members == (stays.notification_id,)
    assert mail.content is not None
    assert mail.content.group is not None
    assert mail.content.group.count == 1
    left_out = {d.notification.notification_id: d for d in decisions(outgoing) if not d.notification.members}
    assert left_out[late.notification_id].verdicts == (Suppress(channel="email", reason=Reason.EXPIRED),)
    assert left_out[cancelled.notification_id].verdicts == (Suppress(channel="email", reason=Reason.READ),)
    assert {d.notification.revision for d in left_out.values()} == {1}


def test_nothing_left_to_say_is_no_mail(role: Orchestrator, clock: Clock) -> None:
    """DIG-05."""
    timer = timer_in(take(role, a_like()))
    set_profile(role, categories={"social": {"email": False}})
    outgoing = end(role, timer, clock)
    assert mails(outgoing) == []
    [left_out] = decisions(outgoing)
    assert left_out.verdicts == (Suppress(channel="email", reason=Reason.OPTED_OUT_OF_CATEGORY),)


def test_an_item_of_a_type_that_is_gone_does_not_hold_up_the_others(role: Orchestrator, clock: Clock) -> None:
    """DIG-10: it goes back to where it is buried; the digest goes out."""
    timer = timer_in(take(role, a_like()))
    [window] = role.states.windows(0, b"ann")
    gone = a_like(type="gone", channels=("email",))
    key, id_ = key_of("email", window.key), b"0123456789abcdef"
    role.states.collect(0, b"ann", key, window.number, id_, encode(gone), Recording())
    outgoing = end(role, timer, clock)
    assert len(mails(outgoing)) == 1
    [value] = outgoing.of("notifications.normal")
    assert decode_notification(value).origin.startswith("timer/flush/email/digest/social")


def test_a_digest_waits_out_quiet_hours_and_asks_its_items_only_then(role: Orchestrator, clock: Clock) -> None:
    """What expires meanwhile is not told of."""
    stays, expires = a_like(), a_like(expires_at=NOW + 2 * HOUR)
    timer = timer_in(take(role, stays))
    take(role, expires)
    set_profile(role, **HOURLY, quiet_hours=(QuietHours(start="00:00", end="23:00"),))
    put_off = end(role, timer, clock)
    assert put_off.of("decisions") == []
    [mail] = mails(end(role, timer_in(put_off), clock))
    assert mail.members == (stays.notification_id,)


def test_a_digest_that_is_not_sent_after_all_says_so_of_each_member(role: Orchestrator, clock: Clock) -> None:
    """Opted out while it was on its way: its sender gives it back."""
    like = a_like()
    [mail] = mails(end(role, timer_in(take(role, like)), clock))
    set_profile(role, channels={"email": False})
    outgoing = take(role, send_back(mail))
    [outcome] = map(decode_outcome, outgoing.of("outcomes"))
    assert isinstance(outcome, OutcomeV1)
    assert (outcome.state, outcome.reason) == ("suppressed", Reason.OPTED_OUT_OF_CHANNEL)
    assert outcome.members == (like.notification_id,)


def test_of_many_windows_each_has_a_key_of_its_own(role: Orchestrator) -> None:
    """Thousands of aggregation keys must not make the user's state too large to write."""
    set_profile(role)
    for number in range(300):
        outgoing = take(role, a_like(aggregation_key=f"post:{number}"))
    assert len(role.states.windows(0, b"ann")) == 300
    assert max(len(value) for value in outgoing.of("state-log")) < 16_000


def test_an_item_of_a_window_that_was_full_puts_that_ones_timer_again(role: Orchestrator, clock: Clock) -> None:
    """Its timer may have got lost in the crash that makes the items come again, though the next window is open."""
    likes = [a_like() for _ in range(5)]
    for like in likes:
        clock.now += 1
        take(role, like)
    windows = role.states.windows(0, b"ann")
    assert [window.count for window in windows] == [4, 1]
    again = [decode_operation(value) for value in take(role, likes[0]).of("timers")]
    assert [timer for timer in again if isinstance(timer, PutTimerV1)] == [timer_of(window) for window in windows]


def test_under_another_catalogue_a_repeat_that_is_now_collected_is_kept(role: Orchestrator, clock: Clock) -> None:
    """It was decided to be sent at once, and perhaps never was."""
    like = a_like()
    plain = msgspec.structs.replace(CATALOGUE, types={**CATALOGUE.types, "social.like": a_type(category="social")})
    role.rules = msgspec.structs.replace(role.rules, catalogue=plain)
    assert len(mails(take(role, like))) == 1
    role.rules = msgspec.structs.replace(role.rules, catalogue=CATALOGUE)
    [mail] = mails(end(role, timer_in(take(role, like)), clock))
    assert mail.members == (like.notification_id,)


def test_what_a_sender_gives_back_goes_to_no_digest(role: Orchestrator) -> None:
    """It was paid for, and its other mailboxes have it already."""
    set_profile(role)
    [mail] = mails(take(role, a_like()))
    set_profile(role, **HOURLY)
    [again] = mails(take(role, send_back(mail)))
    assert again.delivery_id == mail.delivery_id


def test_a_mail_whose_mailbox_was_replaced_goes_to_the_new_one(role: Orchestrator) -> None:
    set_profile(role)
    [mail] = mails(take(role, a_like()))
    moved = a_profile(an_endpoint(endpoint_id="work"), version=9)
    role.profiles.store(0, b"ann", moved, Recording())
    [again] = mails(take(role, send_back(mail)))
    assert (again.endpoint_id, again.attempt) == ("work", 1)
