"""What a notification meets in its user's state, and what it leaves there."""

from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from notify_streams.domain.dedup import WINDOW_MS, Sighting
from notify_streams.domain.meeting import Meeting, leave, meet, origin_of_timer, slice_of
from schemas.codec import pack
from schemas.decisions import Defer, Deliver, Suppress, Verdict
from schemas.notifications import NotificationV1
from schemas.user_state import EMPTY, Stopped, UserState, decode_user_state
from schemas.words import CHANNELS, Channel, Reason
from tests.builders import DAY, NOW, a_notification

E1, E2 = "notify.events.normal/0/7", "notify.events.high/3/9"
LATER = NOW + 1_000


def deliver(channel: Channel = "inapp") -> Verdict:
    return Deliver(channel=channel, endpoint_ids=("inbox",))


def defer(channel: Channel = "email", until: int = NOW + 60_000) -> Verdict:
    return Defer(channel=channel, until=until, reason=Reason.SCHEDULED)


def suppress(channel: Channel = "email") -> Verdict:
    return Suppress(channel=channel, reason=Reason.NO_ENDPOINT)


DECIDED = (deliver("inapp"), suppress("email"))
DEFERRED = (deliver("inapp"), defer("email"))


def met_with(
    verdicts: tuple[Verdict, ...] = DECIDED,
    state: UserState = EMPTY,
    *,
    version: int = 7,
    now: int = NOW,
    **changes: Any,
) -> tuple[Meeting, UserState]:
    """Meet, decide as told, leave: what one record does to the state."""
    notification = a_notification(**changes)
    met = meet(state, notification, version, now)
    return met, leave(state, notification, met, version, verdicts)


def back(revision: int = 1, *channels: Channel) -> dict[str, Any]:
    """What a timer brings back."""
    return {
        "origin": origin_of_timer("decide/1/email", revision),
        "revision": revision,
        "channels": channels or ("email",),
    }


def test_a_first_meeting_is_fresh_and_decided_now() -> None:
    met, _ = met_with()
    assert met == Meeting(Sighting.FRESH, ("inapp", "email"), NOW, 0)


def test_the_same_record_under_the_same_profile_is_decided_with_the_same_instant_and_revision() -> None:
    first, state = met_with()
    again, after = met_with(state=state, now=LATER)
    assert again == Meeting(Sighting.REPEAT, first.channels, first.now, first.revision)
    assert after == state


def test_the_same_record_under_another_profile_is_decided_now_under_the_next_revision() -> None:
    _, state = met_with(version=7)
    again, after = met_with(state=state, version=8, now=LATER)
    assert again == Meeting(Sighting.ANEW, ("inapp", "email"), LATER, 1)
    assert met_with(state=after, version=8, now=LATER + 5)[0] == Meeting(Sighting.REPEAT, ("inapp", "email"), LATER, 1)


def test_another_record_of_the_same_event_is_a_duplicate() -> None:
    _, state = met_with(origin=E1)
    assert meet(state, a_notification(origin=E2), 7, LATER).sighting is Sighting.DUPLICATE


def test_another_event_of_the_same_user_is_fresh() -> None:
    _, state = met_with()
    other = a_notification(notification_id="11111111-2222-5333-8444-555555555555")
    assert meet(state, other, 7, LATER).sighting is Sighting.FRESH


def test_a_profile_version_is_compared_modulo_16_bits() -> None:
    _, state = met_with(version=2**16 + 7)
    assert met_with(state=state, version=2**16 + 7, now=LATER)[0].now == NOW


def test_without_a_deferral_nothing_is_pending() -> None:
    assert met_with()[1].pending == {}


def test_a_deferral_leaves_an_entry_per_channel_waiting_for_the_next_revision() -> None:
    _, state = met_with(DEFERRED)
    assert [(e.revision, e.due_at, bool(e.resolved_at)) for e in state.pending.values()] == [
        (0, 0, True),
        (1, NOW + 60_000, False),
    ]


def test_an_entry_names_its_notification_in_full_so_that_its_timer_can_be_moved() -> None:
    _, state = met_with(DEFERRED)
    id_ = UUID(a_notification().notification_id).bytes
    assert list(state.pending) == [id_ + b"\x00", id_ + b"\x01"]


def test_what_was_deferred_and_is_delivered_when_its_record_comes_again_is_not_decided_by_its_timer_too() -> None:
    _, state = met_with(DEFERRED, version=7)
    again, state = met_with((deliver("inapp"), deliver("email")), state, version=8, now=LATER)
    assert again.sighting is Sighting.ANEW
    assert meet(state, a_notification(**back()), 8, LATER + 60_000).sighting is Sighting.DUPLICATE


def test_no_more_than_a_thousand_wait_in_a_state_and_the_others_go_on_all_the_same() -> None:
    state = EMPTY
    for number in range(1_100):
        _, state = met_with((defer("email"),), state, notification_id=f"{number:08x}-2222-5333-8444-555555555555")
    assert len(state.pending) == 1_000
    last = {**back(), "notification_id": f"{1_099:08x}-2222-5333-8444-555555555555"}
    met, after = met_with((deliver("email"),), state, now=LATER, **last)
    assert (met.sighting, met.channels, met.revision) == (Sighting.FRESH, ("email",), 1)
    assert len(after.pending) == 1_000


def test_what_a_timer_brings_back_is_decided_now_with_its_own_channels_and_revision() -> None:
    _, state = met_with(DEFERRED)
    met, after = met_with((deliver("email"),), state, now=LATER, **back())
    assert met == Meeting(Sighting.FRESH, ("email",), LATER, 1)
    assert [e.resolved_at for e in after.pending.values()] == [NOW, LATER]


def test_the_same_timer_record_again_repeats_its_decision() -> None:
    _, state = met_with(DEFERRED)
    first, state = met_with((deliver("email"),), state, now=LATER, **back())
    again, after = met_with((deliver("email"),), state, now=LATER + 500, **back())
    assert again == Meeting(Sighting.REPEAT, first.channels, first.now, first.revision)
    assert after == state


def test_the_same_timer_record_that_was_deferred_once_more_repeats_that() -> None:
    _, state = met_with(DEFERRED)
    first, state = met_with((defer(until=NOW + DAY),), state, now=LATER, **back())
    again, after = met_with((defer(until=NOW + DAY),), state, now=LATER + 500, **back())
    assert (again.sighting, again.now, again.revision) == (Sighting.REPEAT, first.now, first.revision)
    assert after == state


def test_the_same_timer_record_under_another_profile_gets_the_next_revision() -> None:
    _, state = met_with(DEFERRED)
    _, state = met_with((deliver("email"),), state, now=LATER, **back())
    anew, state = met_with((deliver("email"),), state, version=8, now=LATER + 5, **back())
    assert anew == Meeting(Sighting.ANEW, ("email",), LATER + 5, 2)
    again, after = met_with((deliver("email"),), state, version=8, now=LATER + 9, **back())
    assert again == Meeting(Sighting.REPEAT, ("email",), LATER + 5, 2)
    assert after == state


def test_a_timer_whose_entry_was_forgotten_goes_on() -> None:
    assert meet(EMPTY, a_notification(**back()), 7, LATER) == Meeting(Sighting.FRESH, ("email",), LATER, 1)


def test_a_timer_whose_entry_is_of_a_lower_revision_goes_on() -> None:
    _, state = met_with(DEFERRED)
    assert meet(state, a_notification(**back(5)), 7, LATER) == Meeting(Sighting.FRESH, ("email",), LATER, 5)


def test_a_timer_whose_entry_is_resolved_by_another_record_is_dropped() -> None:
    _, state = met_with(DEFERRED)
    _, state = met_with((deliver("email"),), state, now=LATER, **back(1))
    other = back(1) | {"origin": origin_of_timer("decide/1/email+push", 1)}
    assert meet(state, a_notification(**other), 7, LATER).sighting is Sighting.DUPLICATE


def test_a_timer_whose_entry_waits_for_a_higher_revision_is_dropped() -> None:
    _, state = met_with(DEFERRED)
    _, state = met_with((defer(),), state, now=LATER, **back(1))
    other = back(1) | {"origin": origin_of_timer("decide/1/email+push", 1)}
    assert meet(state, a_notification(**other), 7, LATER).sighting is Sighting.DUPLICATE


def test_of_several_channels_only_those_that_still_wait_are_decided() -> None:
    both = (defer("email"), defer("push"))
    _, state = met_with(both, channels=("email", "push"))
    _, state = met_with((deliver("email"),), state, now=LATER, **back(1, "email"))
    together = back(1, "email", "push") | {"origin": origin_of_timer("decide/1/email+push", 1)}
    assert meet(state, a_notification(**together), 7, LATER) == Meeting(Sighting.FRESH, ("push",), LATER, 1)


def test_a_repeated_event_does_not_reopen_what_its_timer_has_settled() -> None:
    _, state = met_with(DEFERRED)
    _, settled = met_with((deliver("email"),), state, now=LATER, **back())
    again, after = met_with(DEFERRED, settled, now=LATER + 500)
    assert again.sighting is Sighting.REPEAT
    assert after.pending == settled.pending
    assert meet(after, a_notification(**back()), 7, LATER + 900).now == LATER


def test_a_repeated_event_does_not_pull_back_what_was_deferred_further() -> None:
    _, state = met_with(DEFERRED)
    _, further = met_with((defer(until=NOW + DAY),), state, now=LATER, **back())
    _, after = met_with(DEFERRED, further, now=LATER + 500)
    assert after.pending == further.pending


def test_a_producers_retry_during_a_weekend_of_quiet_is_still_a_duplicate() -> None:
    _, state = met_with((defer("inapp"), defer("email")), origin=E1)
    _, state = met_with(state=state, now=NOW + 2 * DAY, notification_id="11111111-2222-5333-8444-555555555555")
    assert meet(state, a_notification(origin=E2), 7, NOW + 2 * DAY).sighting is Sighting.DUPLICATE


def test_a_producers_retry_within_a_day_of_the_timer_is_still_a_duplicate() -> None:
    _, state = met_with((defer("inapp"), defer("email")), origin=E1)
    both = (deliver("inapp"), deliver("email"))
    _, state = met_with(both, state, now=NOW + 2 * DAY, **back(1, "inapp", "email"))
    assert meet(state, a_notification(origin=E2), 7, NOW + 3 * DAY - 1).sighting is Sighting.DUPLICATE


def test_the_record_itself_met_again_after_its_print_was_forgotten_repeats() -> None:
    _, state = met_with((defer("inapp"), defer("email")), origin=E1)
    forgetful = UserState(pending=state.pending)
    assert meet(forgetful, a_notification(origin=E1), 7, NOW + 2 * DAY) == Meeting(
        Sighting.REPEAT, ("inapp", "email"), NOW, 0
    )


def test_entries_are_forgotten_a_day_after_they_are_resolved_and_waiting_ones_never() -> None:
    _, state = met_with(DEFERRED)
    other: dict[str, Any] = {"notification_id": "11111111-2222-5333-8444-555555555555"}
    kept = met_with(state=state, now=NOW + WINDOW_MS - 1, **other)[1].pending
    left = met_with(state=state, now=NOW + WINDOW_MS, **other)[1].pending
    assert [bool(e.resolved_at) for e in kept.values()] == [True, False]
    assert [bool(e.resolved_at) for e in left.values()] == [False]


def test_a_stopped_notification_is_seen_by_its_print_alone() -> None:
    _, state = met_with()
    print_ = state.seen[:10]
    assert slice_of(UserState(stopped={print_: Stopped(NOW, Reason.CANCELLED)}), a_notification(), NOW).stopped
    assert not slice_of(
        UserState(stopped={b"0123456789": Stopped(NOW, Reason.CANCELLED)}), a_notification(), NOW
    ).stopped
    assert not slice_of(EMPTY, a_notification(), NOW).stopped


VERDICTS = st.sampled_from([deliver, defer, suppress])
RECORDS = st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(7, 8), st.integers(0, 3 * DAY))


def _notification(event: int, origin: int) -> NotificationV1:
    return a_notification(
        notification_id=f"{event}0000000-2222-5333-8444-555555555555", origin=f"events/{event}/{origin}"
    )


@given(st.lists(RECORDS, max_size=12), st.data())
def test_in_any_history_an_event_has_effects_for_one_of_its_records_only(
    records: list[tuple[int, int, int, int]], data: st.DataObject
) -> None:
    """Within a day of its first meeting, whatever else the user gets meanwhile."""
    state, first = EMPTY, dict[int, tuple[int, int]]()
    for event, origin, version, after in sorted(records, key=lambda r: r[3]):
        notification, now = _notification(event, origin), NOW + after
        met = meet(state, notification, version, now)
        owner, since = first.setdefault(event, (origin, now))
        if now - since < WINDOW_MS:
            assert (met.sighting is Sighting.DUPLICATE) == (owner != origin)
        if met.sighting is not Sighting.DUPLICATE:
            first[event] = (origin, met.now if met.sighting is Sighting.FRESH else since)
            verdicts = tuple(data.draw(VERDICTS)(channel) for channel in met.channels)
            state = leave(state, notification, met, version, verdicts)


@given(st.lists(st.sampled_from(CHANNELS), min_size=1, unique=True), st.data())
def test_a_state_survives_its_own_encoding(channels: list[Channel], data: st.DataObject) -> None:
    verdicts = tuple(data.draw(VERDICTS)(channel) for channel in channels)
    _, state = met_with(verdicts, channels=tuple(channels))
    assert decode_user_state(pack(state)) == state
