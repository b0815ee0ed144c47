"""Events, timers and senders that bring one mail back in any order, any number of times, under changing profiles."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notify_streams.domain.dedup import Sighting, print_of
from notify_streams.domain.fan_out import timers
from notify_streams.domain.meeting import Meeting, leave, meet, slice_of, timer_id
from notify_streams.domain.stopping import changed, stop
from schemas.decisions import Collect, Defer, Deliver, Suppress, Verdict
from schemas.notifications import NotificationV1, decode_notification
from schemas.profiles import ProfileV1
from schemas.timers import MoveTimerV1
from schemas.user_state import EMPTY
from schemas.words import Channel, Reason
from tests.builders import A_NOTIFICATION, HOUR, NOW, a_notification

Part = str | None
Policy = Callable[[Channel, int], Verdict]
LATER = NOW + 1_000
ENDPOINTS = ("home", "work")


def deliver(channel: Channel = "email", now: int = NOW) -> Verdict:
    return Deliver(channel=channel, endpoint_ids=ENDPOINTS)


def defer(channel: Channel = "email", now: int = NOW) -> Verdict:
    return Defer(channel=channel, until=now + HOUR, reason=Reason.QUIET_HOURS)


def collect(channel: Channel = "email", now: int = NOW) -> Verdict:
    return Collect(channel=channel, window="digest/orders", until=now + HOUR, reason=Reason.DIGEST)


def suppress(channel: Channel = "email", now: int = NOW) -> Verdict:
    return Suppress(channel=channel, reason=Reason.OPTED_OUT_OF_CHANNEL)


def cancelled(channel: Channel = "email", now: int = NOW) -> Verdict:
    return Suppress(channel=channel, reason=Reason.CANCELLED)


def sent_back(revision: int = 0, endpoint_id: str = "home", attempt: int = 1, **changes: Any) -> NotificationV1:
    """What the sender makes of a delivery of this revision."""
    origin = f"sender/{endpoint_id}-delivery/{revision}/{attempt}"
    return a_notification(
        channels=("email",),
        origin=origin,
        endpoint_id=endpoint_id,
        attempt=attempt,
        revision=revision + 1,
        **changes,
    )


class History:
    """One user's state, and all that was ever decided of one notification."""

    def __init__(self, **event: Any) -> None:
        self.state, self.version, self.now = EMPTY, 7, NOW
        self.policy: Policy = deliver
        self.event = a_notification(**{"channels": ("email",), **event})
        self.decided: dict[tuple[Part, Channel, int], tuple[int, int, Verdict]] = {}
        self.put: list[NotificationV1] = []
        self.collected: list[tuple[Part, Channel]] = []

    def take(self, record: NotificationV1) -> Meeting:
        """As the orchestrator does."""
        met = meet(self.state, record, self.version, self.now)
        if met.sighting is Sighting.DUPLICATE:
            return met
        record = msgspec.structs.replace(record, channels=met.channels, revision=met.revision)
        stopped = slice_of(self.state, record, met.now).stopped
        policy = cancelled if stopped else self.policy
        verdicts = tuple(policy(channel, met.now) for channel in met.channels)
        self.state = leave(self.state, record, met, self.version, verdicts)
        for verdict in verdicts:
            self._note(record, met, verdict)
        for timer in timers(record, verdicts, met.revision):
            self.put.append(decode_notification(bytes(timer.payload)))
        return met

    def _note(self, record: NotificationV1, met: Meeting, verdict: Verdict) -> None:
        made = (self.version, met.now, verdict)
        known = self.decided.setdefault((record.endpoint_id, verdict.channel, met.revision), made)
        assert known == made, "one revision was decided in two ways"
        if isinstance(verdict, Collect) and verdict.channel not in met.collected:
            self.collected.append((record.endpoint_id, verdict.channel))

    def patch(self, policy: Policy) -> tuple[MoveTimerV1, ...]:
        """The next version of the profile; what it moves."""
        self.version, self.policy = self.version + 1, policy
        followed = changed(self.state, ProfileV1(version=self.version), self.now)
        self.state = followed.state
        return followed.timers

    def stop(self) -> None:
        """Cancelled by its producer."""
        self.state = stop(self.state, A_NOTIFICATION, Reason.CANCELLED, self.now).state

    def deliveries(self) -> list[tuple[int, str]]:
        """Revision and endpoint of each that was ever made."""
        return [
            (revision, endpoint)
            for (part, channel, revision), (_, _, verdict) in self.decided.items()
            if isinstance(verdict, Deliver) and channel == "email"
            for endpoint in (ENDPOINTS if part is None else (part,))
        ]

    def last(self) -> dict[Part, Verdict]:
        """The latest word on each part of the mail."""
        latest: dict[Part, tuple[int, Verdict]] = {}
        for (part, channel, revision), (_, _, verdict) in self.decided.items():
            if channel == "email" and latest.get(part, (-1, verdict))[0] < revision:
                latest[part] = revision, verdict
        return {part: verdict for part, (_, verdict) in latest.items()}


def test_two_endpoints_of_a_channel_that_are_sent_back_are_both_decided_each_under_its_own_entry() -> None:
    history = History()
    history.take(history.event)
    for endpoint in ENDPOINTS:
        met = history.take(sent_back(endpoint_id=endpoint))
        assert met == Meeting(Sighting.FRESH, ("email",), NOW, 1)
    assert len(history.state.pending) == 2
    assert {key[:17] for key in history.state.pending} == {next(iter(history.state.pending))[:17]}


def test_a_repeat_of_what_was_sent_back_is_decided_with_the_same_instant_and_revision() -> None:
    history = History()
    history.take(history.event)
    first = {endpoint: history.take(sent_back(endpoint_id=endpoint)) for endpoint in ENDPOINTS}
    state, history.now = history.state, LATER
    for endpoint, met in first.items():
        assert history.take(sent_back(endpoint_id=endpoint)) == msgspec.structs.replace(met, sighting=Sighting.REPEAT)
    assert history.state == state


def test_what_is_sent_back_a_second_time_is_decided_a_second_time() -> None:
    """Two changes of the profile while its sender is behind: the second must not lose what the first delivered."""
    history = History()
    history.take(history.event)
    history.take(sent_back(revision=0))
    assert history.take(sent_back(revision=1)) == Meeting(Sighting.FRESH, ("email",), NOW, 2)
    assert history.take(sent_back(revision=2)) == Meeting(Sighting.FRESH, ("email",), NOW, 3)


def test_of_two_attempts_at_one_delivery_that_are_sent_back_only_the_first_is_decided() -> None:
    history = History()
    history.take(history.event)
    history.take(sent_back(attempt=1))
    assert history.take(sent_back(attempt=2)).sighting is Sighting.DUPLICATE


def test_what_was_sent_back_and_waits_names_its_own_timer_so_that_it_can_be_moved() -> None:
    history = History()
    history.take(history.event)
    history.policy = defer
    history.take(sent_back(endpoint_id="home"))
    history.take(sent_back(endpoint_id="work"))
    moves = history.patch(deliver)
    assert {move.timer_id for move in moves} == {f"decide/{A_NOTIFICATION}/email@{e}" for e in ENDPOINTS}
    assert {(move.due_at, move.revision) for move in moves} == {(NOW, 2)}
    assert [timer.endpoint_id for timer in history.put] == ["home", "work"]


def test_entries_that_wait_keep_the_ids_of_the_timers_that_bring_them_back() -> None:
    history = History(channels=("inapp", "email", "push"))
    history.policy = lambda channel, now: deliver(channel) if channel == "inapp" else defer(channel, now)
    history.take(history.event)
    together = timer_id(history.event, ("push", "email"))
    assert [e.timer_id for e in history.state.pending.values()] == ["", together, together]
    assert [move.timer_id for move in history.patch(deliver)] == [together]
    history.take(history.put[0])
    assert [e.timer_id for e in history.state.pending.values()] == ["", "", ""]
    assert history.patch(deliver) == ()


@pytest.mark.parametrize("again", [deliver, defer, suppress])
@pytest.mark.parametrize("patched", [0, 1, 2])
def test_of_a_record_in_flight_and_its_moved_copy_one_is_decided_and_the_other_repeats_it(
    again: Policy, patched: int
) -> None:
    """Patched before both, between them and after: the copy is the same record, so it can only repeat or renew."""
    history = History()
    history.policy = defer
    history.take(history.event)
    if patched == 0:
        history.patch(again)
    history.policy = again
    first = history.take(history.put[0])
    if patched == 1:
        history.patch(again)
    history.now = LATER
    second = history.take(history.put[0])
    if patched == 1:
        assert (second.sighting, second.revision) == (Sighting.ANEW, first.revision + 1)
    else:
        assert second == msgspec.structs.replace(first, sighting=Sighting.REPEAT)
    if patched == 2:
        history.patch(again)
    assert sum(entry.resolved_at == 0 for entry in history.state.pending.values()) == (again is defer)


def test_a_collected_channel_is_not_decided_again_when_its_event_is_met_under_other_profiles() -> None:
    history = History(channels=("inapp", "email"))
    history.policy = lambda channel, now: deliver(channel) if channel == "inapp" else collect(channel, now)
    history.take(history.event)
    history.patch(deliver)
    second = history.take(history.event)
    assert (second.sighting, second.channels, second.apart) == (Sighting.ANEW, ("inapp",), ("email",))
    third = history.take(history.event)
    assert third == msgspec.structs.replace(second, sighting=Sighting.REPEAT)
    history.patch(deliver)
    assert history.take(history.event).channels == ("inapp",)


def test_of_an_event_all_of_whose_channels_wait_in_windows_nothing_is_decided_under_another_profile() -> None:
    history = History()
    history.policy = collect
    history.take(history.event)
    history.patch(deliver)
    decided = dict(history.decided)
    again = history.take(history.event)
    assert (again.channels, again.apart) == ((), ("email",))
    assert history.decided == decided


def test_what_its_timer_has_taken_further_is_left_to_that_when_the_event_is_met_under_another_profile() -> None:
    history = History(channels=("email", "push"))
    history.policy = lambda channel, now: deliver(channel) if channel == "push" else defer(channel, now)
    history.take(history.event)
    history.policy = deliver
    history.take(history.put[0])
    history.patch(deliver)
    again = history.take(history.event)
    assert (again.channels, again.apart) == (("push",), ("email",))


def test_what_is_collected_only_under_the_newer_profile_is_not_taken_for_an_item_that_waits_already() -> None:
    history = History()
    history.policy = defer
    history.take(history.event)
    history.patch(collect)
    assert history.take(history.event).sighting is Sighting.ANEW
    assert history.take(history.put[0]).sighting is Sighting.DUPLICATE
    assert history.collected == [(None, "email")]


def test_decisions_of_a_burst_have_instants_of_their_own_as_far_as_they_are_charged() -> None:
    state = EMPTY
    instants = []
    for number in range(3):
        one = a_notification(notification_id=f"{number}0000000-2222-5333-8444-555555555555", channels=("email",))
        met = meet(state, one, 7, NOW)
        assert slice_of(state, one, met.now).hour == number
        state = leave(state, one, met, 7, (deliver(),), costs=True)
        instants.append(met.now)
    assert instants == [NOW, NOW + 1, NOW + 2]


def test_a_notification_that_comes_back_after_it_was_charged_has_paid() -> None:
    state = leave(EMPTY, a_notification(), meet(EMPTY, a_notification(), 7, NOW), 7, (deliver(),), costs=True)
    assert slice_of(state, sent_back(), LATER).paid
    met = meet(state, sent_back(), 7, LATER)
    assert leave(state, sent_back(), met, 7, (deliver(),), costs=True).charged == state.charged
    assert print_of(A_NOTIFICATION) in state.charged


POLICIES = st.sampled_from([deliver, defer, collect, suppress])
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["event", "timer", "timer", "sender", "sender", "patch", "clock", "stop"]),
        st.integers(0, 5),
        POLICIES,
    ),
    max_size=25,
)


def played(steps: list[tuple[str, int, Policy]], first: Policy) -> History:
    """Records come in any order and any number of times; whatever was published may come again at any time."""
    history = History(channels=("inapp", "email"))
    history.policy = first
    history.take(history.event)
    for step, number, policy in steps:
        match step:
            case "event":
                history.take(history.event)
            case "timer" if history.put:
                history.take(history.put[number % len(history.put)])
            case "sender" if history.deliveries():
                revision, endpoint = history.deliveries()[number % len(history.deliveries())]
                history.take(sent_back(revision, endpoint, attempt=1 + number % 2))
            case "patch":
                history.patch(policy)
            case "clock":
                history.now += number * 1_000
            case "stop" if number == 0:
                history.stop()
    return history


@settings(max_examples=500)
@given(STEPS, POLICIES)
def test_no_revision_is_ever_decided_in_two_ways(steps: list[tuple[str, int, Policy]], first: Policy) -> None:
    """Asserted at every decision, see `History`."""
    history = played(steps, first)
    assert set(history.last()) >= {None}


@settings(max_examples=500)
@given(STEPS, POLICIES)
def test_whatever_waits_is_decided_in_the_end(steps: list[tuple[str, int, Policy]], first: Policy) -> None:
    history = played(steps, first)
    history.patch(deliver)
    for record in history.put:
        history.take(record)
    assert not [part for part, verdict in history.last().items() if isinstance(verdict, Defer)]
    assert all(entry.resolved_at for entry in history.state.pending.values())


@settings(max_examples=500)
@given(STEPS, POLICIES)
def test_nothing_is_put_into_a_window_twice(steps: list[tuple[str, int, Policy]], first: Policy) -> None:
    history = played(steps, first)
    assert len(history.collected) == len(set(history.collected))


@settings(max_examples=500)
@given(STEPS, POLICIES)
def test_all_met_again_after_a_crash_is_decided_as_it_was(steps: list[tuple[str, int, Policy]], first: Policy) -> None:
    """Under the profile under which it was decided: the effects are the same, the state is not touched."""
    history = played(steps, first)
    decided, state = dict(history.decided), history.state
    history.now += 500
    met = history.take(history.event)
    if met.sighting is Sighting.REPEAT:
        assert (history.decided, history.state) == (decided, state)
