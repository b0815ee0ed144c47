"""Whether a delivery may still be sent when its sender meets it, and what its sender remembers of stops."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_streams.domain import gate as gates
from notify_streams.domain.dedup import print_of
from notify_streams.domain.gate import DecideAgain, Ended, Passage, Send, after, has_expired, is_past, may_still_send
from schemas.content import Content
from schemas.stops import OPEN, Gate, GateStop, StopV1
from schemas.words import CHANNELS, Reason
from tests.builders import A_NOTIFICATION, DAY, HOUR, NOW, a_delivery, an_id

LATER = NOW + DAY
IDS = tuple(an_id() for _ in range(4))


def a_stop(notification_id: str | None = A_NOTIFICATION, **changes: object) -> StopV1:
    """That order was cancelled."""
    fields: dict[str, object] = {"at": NOW, "until": LATER, "notification_id": notification_id, **changes}
    return StopV1(**fields)  # type: ignore[arg-type]


def told(*stops: StopV1, now: int = NOW) -> Gate:
    """The gate of somebody of whom this was said."""
    gate = OPEN
    for stop in stops:
        gate = after(gate, stop, now)
    return gate


@pytest.mark.parametrize(("age_s", "late"), [(599, False), (600, True), (601, True)])
def test_at_the_instant_of_expiry_it_is_too_late(age_s: int, late: bool) -> None:
    """RTY-07"""
    code, now = a_delivery(expires_at=NOW + 600_000), NOW + age_s * 1000
    assert has_expired(code, now) is late
    assert may_still_send(code, OPEN, now, ()) == (Ended(Reason.EXPIRED) if late else Send())


@pytest.mark.parametrize(
    ("address", "patterns", "passage"),
    [
        ("ann@example.com", (), Send()),
        ("ann@example.com", ("*@example.com",), Send()),
        ("Ann@EXAMPLE.com", ("*@example.com",), Send()),
        ("ann@example.com", ("*@EXAMPLE.com",), Send()),
        ("ann@example.com", ("bob@*", "ann@*"), Send()),
        ("ann@example.com.evil.test", ("*@example.com",), Ended(Reason.GUARDED)),
        ("ann@sub.example.com", ("*@example.com",), Ended(Reason.GUARDED)),
        ("ann@example.com\nx", ("*@example.com",), Ended(Reason.GUARDED)),
        ("+15551234", ("*@example.com",), Ended(Reason.GUARDED)),
        ("", ("*@example.com",), Ended(Reason.GUARDED)),
    ],
)
def test_a_guarded_environment_reaches_only_the_addresses_it_names(
    address: str, patterns: tuple[str, ...], passage: Passage
) -> None:
    assert may_still_send(a_delivery(content=Content(address=address)), OPEN, NOW, patterns) == passage


def test_without_content_there_is_no_address_to_allow() -> None:
    assert may_still_send(a_delivery(content=None), OPEN, NOW, ("*",)) == Send()
    assert may_still_send(a_delivery(content=None), OPEN, NOW, ("*@example.com",)) == Ended(Reason.GUARDED)


@pytest.mark.parametrize("reason", [Reason.CANCELLED, Reason.COLLAPSED, Reason.READ])
def test_what_was_stopped_ends_for_the_reason_of_its_stop(reason: Reason) -> None:
    assert may_still_send(a_delivery(), told(a_stop(reason=reason)), NOW, ()) == Ended(reason)
    assert may_still_send(a_delivery(an_id()), told(a_stop(reason=reason)), NOW, ()) == Send()


def test_a_stop_on_some_channels_lets_the_others_go() -> None:
    gate = told(a_stop(channels=("push", "sms")))
    assert may_still_send(a_delivery(channel="push"), gate, NOW, ()) == Ended(Reason.CANCELLED)
    assert may_still_send(a_delivery(channel="email"), gate, NOW, ()) == Send()


@pytest.mark.parametrize(("late_ms", "passage"), [(-1, Ended(Reason.CANCELLED)), (0, Send())])
def test_a_stop_holds_until_its_end(late_ms: int, passage: Passage) -> None:
    gate = told(a_stop(until=NOW + HOUR))
    assert may_still_send(a_delivery(), gate, NOW + HOUR + late_ms, ()) == passage


def test_a_flushed_digest_goes_out_though_one_of_its_members_is_stopped_and_is_stopped_by_its_own_id() -> None:
    digest = a_delivery(IDS[0], members=(A_NOTIFICATION, IDS[1]))
    assert may_still_send(digest, told(a_stop()), NOW, ()) == Send()
    assert may_still_send(digest, told(a_stop(IDS[0])), NOW, ()) == Ended(Reason.CANCELLED)


@pytest.mark.parametrize(("late_ms", "passage"), [(-1, Send()), (0, DecideAgain()), (DAY // 2, DecideAgain())])
def test_from_the_start_of_quiet_hours_on_it_is_decided_again(late_ms: int, passage: Passage) -> None:
    delivery = a_delivery(hold_from=NOW + HOUR)
    assert may_still_send(delivery, OPEN, NOW + HOUR + late_ms, ()) == passage


@pytest.mark.parametrize(("version", "passage"), [(6, DecideAgain()), (7, Send()), (8, Send())])
def test_what_was_decided_under_an_older_profile_is_decided_again(version: int, passage: Passage) -> None:
    gate = told(a_stop(None, version=7))
    assert may_still_send(a_delivery(profile_version=version), gate, NOW, ()) == passage


def test_a_version_asks_for_nothing_once_nothing_older_can_be_under_way() -> None:
    gate = told(a_stop(None, version=7, until=NOW + HOUR))
    assert may_still_send(a_delivery(), gate, NOW + HOUR - 1, ()) == DecideAgain()
    assert may_still_send(a_delivery(), gate, NOW + HOUR, ()) == Send()


def test_the_first_rule_that_applies_wins() -> None:
    """Expired, stopped, guarded, held or decided under an older profile: take one after the other away."""
    patterns: Sequence[str] = ("nobody",)
    delivery = a_delivery(expires_at=NOW, hold_from=NOW)
    alive = a_delivery(hold_from=NOW)
    gate, versions = told(a_stop(), a_stop(None, version=7)), told(a_stop(None, version=7))
    assert may_still_send(delivery, gate, NOW, patterns) == Ended(Reason.EXPIRED)
    assert may_still_send(alive, gate, NOW, patterns) == Ended(Reason.CANCELLED)
    assert may_still_send(alive, versions, NOW, patterns) == Ended(Reason.GUARDED)
    assert may_still_send(alive, versions, NOW, ()) == DecideAgain()


def test_stops_of_one_notification_add_up() -> None:
    gate = told(a_stop(channels=("sms",), reason=Reason.READ), a_stop(channels=("email",), until=LATER + 1))
    known = gate.stopped[print_of(A_NOTIFICATION)]
    assert known == GateStop(LATER + 1, Reason.CANCELLED, ("email", "sms"))
    everywhere = after(gate, a_stop(), NOW)
    assert everywhere.stopped[print_of(A_NOTIFICATION)].channels == ()


def test_a_stop_without_a_version_does_not_prolong_one() -> None:
    gate = told(a_stop(None, version=7, until=NOW + HOUR), a_stop())
    assert (gate.version, gate.version_until) == (7, NOW + HOUR)


def test_what_is_past_is_forgotten_with_the_next_stop() -> None:
    gate = told(a_stop(IDS[0], until=NOW + HOUR))
    assert list(after(gate, a_stop(IDS[1]), NOW + HOUR).stopped) == [print_of(IDS[1])]
    assert told(a_stop(until=NOW)).stopped == {}


def test_of_too_many_those_are_kept_that_are_stopped_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gates, "MOST", 3)
    stops = [a_stop(id_, until=LATER + n) for n, id_ in enumerate(IDS)]
    assert told(*stops) == told(*reversed(stops))
    assert set(told(*stops).stopped) == {print_of(id_) for id_ in IDS[1:]}


def test_the_gate_of_somebody_with_very_many_stops_stays_small() -> None:
    gate = told(*(a_stop(an_id(), until=LATER + n) for n in range(gates.MOST + 50)))
    assert len(gate.stopped) == gates.MOST
    assert min(known.until for known in gate.stopped.values()) == LATER + 50


def test_a_gate_is_past_when_all_that_it_holds_is() -> None:
    gate = told(a_stop(until=NOW + HOUR), a_stop(None, version=7, until=NOW + 2 * HOUR))
    assert [is_past(gate, NOW + hours * HOUR) for hours in (0, 1, 2)] == [False, False, True]
    assert is_past(OPEN, NOW)
    assert [is_past(told(a_stop(until=NOW + HOUR)), NOW + late) for late in (HOUR - 1, HOUR)] == [False, True]


def test_a_notification_id_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="hexadecimal"):
        after(OPEN, a_stop("no uuid"), NOW)


STOPS = st.builds(
    StopV1,
    at=st.just(NOW),
    until=st.integers(NOW - 2, NOW + 4),
    version=st.integers(0, 4),
    notification_id=st.sampled_from([None, *IDS]),
    reason=st.sampled_from([Reason.CANCELLED, Reason.COLLAPSED, Reason.READ]),
    channels=st.lists(st.sampled_from(CHANNELS), max_size=3).map(tuple),
)


@given(st.lists(STOPS, max_size=12), st.randoms(use_true_random=False))
def test_neither_the_order_of_stops_nor_repeats_matter(stops: list[StopV1], random: object) -> None:
    again = [*stops, *stops[: len(stops) // 2]]
    random.shuffle(again)  # type: ignore[attr-defined]
    assert told(*again) == told(*stops)


@given(st.lists(STOPS, max_size=12), st.lists(st.integers(0, 4), min_size=12, max_size=12).map(sorted))
def test_whenever_they_are_met_what_one_stop_forbids_its_gate_forbids(stops: list[StopV1], waits: list[int]) -> None:
    gate, now = OPEN, NOW + waits[-1]
    for stop, wait in zip(stops, waits, strict=False):
        gate = after(gate, stop, NOW + wait)
    for stop in stops:
        for delivery in (a_delivery(id_, channel=channel, profile_version=2) for id_ in IDS for channel in CHANNELS):
            if may_still_send(delivery, told(stop), now, ()) != Send():
                assert may_still_send(delivery, gate, now, ()) != Send()


@given(st.lists(STOPS, max_size=8), STOPS, st.integers(0, 3))
def test_no_stop_opens_a_gate(stops: list[StopV1], stop: StopV1, version: int) -> None:
    before = told(*stops)
    for id_ in IDS:
        delivery = a_delivery(id_, profile_version=version)
        if may_still_send(delivery, before, NOW, ()) != Send():
            assert may_still_send(delivery, after(before, stop, NOW), NOW, ()) != Send()


def test_a_producers_own_webhook_heeds_expiry_and_the_guard_and_nothing_that_its_user_wants() -> None:
    told_of = a_delivery(hook="shop", profile_version=1, hold_from=NOW - 1, expires_at=NOW + HOUR)
    gate = told(a_stop(reason=Reason.CANCELLED), a_stop(None, version=99))
    assert may_still_send(told_of, gate, NOW, ()) == Send()
    assert may_still_send(told_of, gate, NOW, ("*@nowhere.example",)) == Ended(Reason.GUARDED)
    assert may_still_send(told_of, gate, NOW + HOUR, ()) == Ended(Reason.EXPIRED)
