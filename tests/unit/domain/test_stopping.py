"""What a cancel, a newer one under a collapse key and a changed profile do to what is under way."""

from typing import Any

import msgspec

from notify_streams.domain.dedup import print_of
from notify_streams.domain.meeting import leave, meet, timer_id
from notify_streams.domain.stopping import UNDER_WAY_MS, Followed, cancel, changed, collapse, stop
from schemas.commands import CancelV1
from schemas.decisions import Defer, Deliver
from schemas.notifications import NotificationV1
from schemas.stops import StopV1
from schemas.timers import MoveTimerV1
from schemas.user_state import EMPTY, Stopped, UserState
from schemas.words import Reason
from tests.builders import A_NOTIFICATION, HOUR, MINUTE, NOW, a_notification, a_profile, an_id

LATER = NOW + MINUTE


def waiting(notification: NotificationV1 | None = None, state: UserState = EMPTY) -> UserState:
    """Its mail waits until an hour from now, its inbox entry is written."""
    notification = notification or a_notification()
    verdicts = (
        Deliver(channel="inapp", endpoint_ids=("inbox",)),
        Defer(channel="email", until=NOW + HOUR, reason=Reason.QUIET_HOURS),
    )
    return leave(state, notification, meet(state, notification, 7, NOW), 7, verdicts)


def keyed(**changes: Any) -> NotificationV1:
    return a_notification(notification_id=an_id(), **{"collapse_key": "score", **changes})


def stopped(followed: Followed) -> list[tuple[str | None, Reason]]:
    return [(told.notification_id, told.reason) for told in followed.stops]


def a_cancel(**changes: Any) -> CancelV1:
    return CancelV1(command_id="c", **changes)


def test_what_waits_comes_back_at_once_under_its_own_revision() -> None:
    followed = cancel(waiting(), a_cancel(notification_id=A_NOTIFICATION), LATER, LATER)
    timer = timer_id(a_notification(), ["email"])
    assert followed.timers == (MoveTimerV1(timer_id=timer, due_at=LATER, revision=1),)
    assert followed.stops == (StopV1(at=LATER, until=LATER + UNDER_WAY_MS, notification_id=A_NOTIFICATION),)
    assert followed.state.stopped == {
        print_of(A_NOTIFICATION): Stopped(LATER + UNDER_WAY_MS, Reason.CANCELLED, at=LATER)
    }


def test_a_cancel_that_comes_before_its_event_is_kept() -> None:
    followed = cancel(EMPTY, a_cancel(notification_id=A_NOTIFICATION), NOW, NOW)
    assert followed.timers == ()
    assert print_of(A_NOTIFICATION) in followed.state.stopped
    assert len(followed.stops) == 1


def test_other_notifications_of_the_user_go_on_waiting() -> None:
    other = an_id()
    state = waiting(a_notification(notification_id=other), waiting())
    followed = cancel(state, a_cancel(notification_id=other), LATER, LATER)
    assert [t.timer_id for t in followed.timers] == [f"decide/{other}/email"]


def test_a_second_stop_adds_its_channels() -> None:
    first = stop(EMPTY, A_NOTIFICATION, Reason.READ, NOW, ("email",))
    second = stop(first.state, A_NOTIFICATION, Reason.READ, NOW, ("push",))
    assert second.state.stopped[print_of(A_NOTIFICATION)].channels == ("email", "push")
    whole = stop(second.state, A_NOTIFICATION, Reason.CANCELLED, NOW)
    assert whole.state.stopped[print_of(A_NOTIFICATION)].channels == ()
    assert (
        stop(whole.state, A_NOTIFICATION, Reason.READ, NOW, ("push",)).state.stopped[print_of(A_NOTIFICATION)].channels
        == ()
    )


def test_stops_are_bounded() -> None:
    state = EMPTY
    for number in range(1_003):
        state = stop(state, f"{number:08x}-2222-5333-8444-555555555555", Reason.CANCELLED, NOW + number).state
    assert len(state.stopped) == 1_000
    assert print_of("00000000-2222-5333-8444-555555555555") not in state.stopped


def test_the_newest_under_a_collapse_key_replaces_an_older_one() -> None:
    old, new = keyed(), keyed(accepted_at=NOW + 1)
    state = waiting(old, collapse(EMPTY, old, NOW).state)
    followed = collapse(state, new, LATER)
    assert stopped(followed) == [(old.notification_id, Reason.COLLAPSED)]
    assert [t.timer_id for t in followed.timers] == [f"decide/{old.notification_id}/email"]
    assert print_of(new.notification_id) not in followed.state.stopped


def test_an_older_one_that_comes_later_is_itself_the_replaced_one() -> None:
    old, new = keyed(), keyed(accepted_at=NOW + 1)
    followed = collapse(collapse(EMPTY, new, NOW).state, old, LATER)
    assert stopped(followed) == [(old.notification_id, Reason.COLLAPSED)]


def test_of_two_of_one_millisecond_one_stays_however_often_they_are_met_again() -> None:
    one, two = keyed(), keyed()
    state = EMPTY
    for notification in (one, two, one, two, two, one):
        state = met(collapse(state, notification, NOW).state, notification)
    assert list(state.stopped) == [print_of(one.notification_id)]


def test_met_again_it_says_again_what_it_replaced() -> None:
    old, new = keyed(), keyed(accepted_at=NOW + 1)
    first = collapse(collapse(EMPTY, old, NOW).state, new, NOW)
    again = collapse(first.state, new, LATER, again=True)
    assert stopped(again) == stopped(first)


def test_met_again_when_it_is_replaced_itself_it_still_says_whom_it_had_replaced() -> None:
    """The first stop may have got lost while a third one came."""
    one, two, three = (keyed(accepted_at=NOW + n) for n in range(3))
    state = EMPTY
    for notification in (one, two, three):
        state = collapse(state, notification, NOW).state
    again = collapse(state, two, LATER, again=True)
    assert {id_ for id_, _ in stopped(again)} == {one.notification_id, two.notification_id}


def met(state: UserState, notification: NotificationV1) -> UserState:
    """Decided to be sent at once: nothing of it waits."""
    sent = (Deliver(channel="inapp", endpoint_ids=("inbox",)), Deliver(channel="email", endpoint_ids=("home",)))
    return leave(state, notification, meet(state, notification, 7, NOW), 7, sent)


def test_of_what_is_under_way_already_only_the_senders_are_told() -> None:
    """A stranger's thousand replacements pushed somebody's cancel out of the list."""
    cancelled = an_id()
    state = stop(EMPTY, cancelled, Reason.CANCELLED, NOW).state
    told = 0
    for number in range(1_100):
        notification = keyed(accepted_at=NOW + number)
        followed = collapse(state, notification, NOW)
        state, told = met(followed.state, notification), told + len(followed.stops)
    assert told == 1_099
    assert list(state.stopped) == [print_of(cancelled)]


def test_keys_of_another_source_or_none_at_all_replace_nothing() -> None:
    old = keyed()
    state = collapse(EMPTY, old, NOW).state
    assert collapse(state, keyed(source="/other"), NOW).stops == ()
    assert collapse(state, keyed(collapse_key=None), NOW).stops == ()
    assert collapse(EMPTY, old, NOW).stops == ()


SCORE: dict[str, str] = {"source": "/shop/orders", "collapse_key": "score"}


def test_a_cancel_by_collapse_key_means_what_was_accepted_until_it_was_given() -> None:
    old, new, later = keyed(), keyed(accepted_at=NOW + 1), keyed(accepted_at=NOW + 9)
    state = collapse(collapse(EMPTY, old, NOW).state, new, NOW).state
    followed = cancel(state, a_cancel(**SCORE), NOW + 5, LATER)
    assert stopped(followed) == [(new.notification_id, Reason.CANCELLED)]
    after = collapse(followed.state, later, LATER)
    assert print_of(later.notification_id) not in after.state.stopped
    again = cancel(after.state, a_cancel(**SCORE), NOW + 5, LATER)
    assert again.stops == ()


def test_a_cancel_by_collapse_key_is_kept_for_what_is_met_only_later() -> None:
    followed = cancel(EMPTY, a_cancel(**SCORE), NOW + 5, NOW)
    assert followed.stops == ()
    assert stopped(collapse(followed.state, keyed(accepted_at=NOW + 5), LATER))[0][1] is Reason.CANCELLED
    assert collapse(followed.state, keyed(accepted_at=NOW + 6), LATER).stops == ()
    assert collapse(followed.state, keyed(source="/other"), LATER).stops == ()


def test_the_first_reason_stays() -> None:
    state = stop(EMPTY, A_NOTIFICATION, Reason.CANCELLED, NOW).state
    assert (
        stop(state, A_NOTIFICATION, Reason.COLLAPSED, NOW).state.stopped[print_of(A_NOTIFICATION)].reason == "cancelled"
    )


def test_collapse_keys_are_bounded() -> None:
    state = EMPTY
    for number in range(300):
        state = collapse(state, keyed(collapse_key=f"k{number}", expires_at=NOW + number), NOW).state
    assert len(state.latest) == 256


def test_a_changed_profile_brings_back_all_that_waits_and_raises_the_floor() -> None:
    """One truth for timers: a changed zone or preference plans anew what waits."""
    other = an_id()
    state = waiting(a_notification(notification_id=other), waiting())
    followed = changed(state, a_profile(version=8), LATER)
    assert {t.timer_id for t in followed.timers} == {f"decide/{other}/email", f"decide/{A_NOTIFICATION}/email"}
    assert {t.due_at for t in followed.timers} == {LATER}
    assert followed.stops == (StopV1(at=LATER, until=LATER + UNDER_WAY_MS, version=8),)
    assert followed.state is state


def test_what_is_resolved_is_left_alone() -> None:
    back = a_notification(channels=("email",), revision=1, origin=f"timer/{timer_id(a_notification(), ['email'])}/1")
    met = meet(waiting(), back, 7, NOW + HOUR)
    resolved = leave(waiting(), back, met, 7, (Deliver(channel="email", endpoint_ids=("home",)),))
    assert changed(resolved, a_profile(), NOW + HOUR).timers == ()


def test_a_moved_timer_and_the_copy_that_was_on_its_way_are_decided_once() -> None:
    """The move keeps the revision: whichever comes first is decided, the other finds it resolved."""
    state = waiting()
    back = a_notification(channels=("email",), revision=1, origin=f"timer/{timer_id(a_notification(), ['email'])}/1")
    followed = changed(state, a_profile(version=8), LATER)
    met = meet(followed.state, back, 8, LATER)
    assert met.channels == ("email",)
    after = leave(followed.state, back, met, 8, (Deliver(channel="email", endpoint_ids=("home",)),))
    other = msgspec.structs.replace(back, origin=back.origin + "/copy")
    assert meet(after, other, 8, LATER).channels == ()
