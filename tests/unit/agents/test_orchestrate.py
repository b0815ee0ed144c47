"""Notifications in; state, deliveries, timers and decisions out, together or not at all."""

from typing import Any

import pytest

from agents.orchestrate import Orchestrator
from notify_streams.domain.decide import decide
from notify_streams.streaming.deadletters import DeadLetters
from notify_streams.streaming.keyed import NoUser
from schemas.codec import encode
from schemas.decisions import CatalogueV1, DecisionV1, Deliver, Suppress, decode_decision
from schemas.deliveries import decode_delivery
from schemas.notifications import NotificationV1
from schemas.profiles import ProfileV1
from schemas.timers import PutTimerV1, decode_operation
from schemas.user_state import EMPTY
from schemas.words import Reason
from tables.by_event import StoreFailed
from tables.profiles import Profiles
from tables.user_state import UserStates
from tests.builders import HOUR, NOW, a_catalogue, a_notification, a_profile, a_type, an_id
from tests.fakes import Clock, Recording, Table, an_app, arrived

CATALOGUE = a_catalogue(channels=("inapp", "email"), social_like=a_type(channels=("inapp",)))


@pytest.fixture
def role(state_table: Table, profile_table: Table, clock: Clock) -> Orchestrator:
    states, profiles = UserStates(state_table, "notify."), Profiles(profile_table, "notify.")
    dead = DeadLetters("orchestrator", 20)
    made = Orchestrator(an_app(), states, profiles, CATALOGUE, dead, tzdata="2026.6", clock=clock)
    profiles.store(0, b"ann", a_profile(), Recording())
    return made


def take(role: Orchestrator, notification: NotificationV1 | None = None, **changes: Any) -> Recording:
    outgoing = Recording()
    role.take(arrived(encode(notification or a_notification(**changes))), outgoing)
    return outgoing


def set_profile(role: Orchestrator, profile: ProfileV1) -> None:
    role.profiles.store(0, b"ann", profile, Recording())


def decision(outgoing: Recording) -> DecisionV1:
    [value] = outgoing.of("decisions")
    read = decode_decision(value)
    assert isinstance(read, DecisionV1)
    return read


def timer(outgoing: Recording) -> PutTimerV1:
    [value] = outgoing.of("timers")
    operation = decode_operation(value)
    assert isinstance(operation, PutTimerV1)
    return operation


def test_a_notification_becomes_deliveries_one_decision_and_one_state(role: Orchestrator) -> None:
    outgoing = take(role)
    assert outgoing.topics() == ["state-log", "deliveries.inapp.normal", "deliveries.email.normal", "decisions"]
    assert {(r.partition, r.key) for r in outgoing.records} == {(0, b"ann"), (0, b"\x00\x03anns")}
    [mail] = outgoing.of("deliveries.email.normal")
    assert decode_delivery(mail).decided_at == NOW
    assert [type(v) for v in decision(outgoing).verdicts] == [Deliver, Deliver]


def test_its_lane_is_kept_at_every_hop(role: Orchestrator) -> None:
    outgoing = take(role, lane="high")
    assert {"deliveries.inapp.high", "deliveries.email.high"} < set(outgoing.topics())


def test_what_is_suppressed_is_recorded_too(role: Orchestrator) -> None:
    set_profile(role, a_profile(channels={"email": False}))
    outgoing = take(role, channels=("email",))
    assert outgoing.topics() == ["state-log", "decisions"]
    assert decision(outgoing).verdicts == (Suppress(channel="email", reason=Reason.OPTED_OUT_OF_CHANNEL),)


def test_the_record_alone_decides_the_same_again(role: Orchestrator) -> None:
    read = decision(take(role))
    again = decide(read.notification, read.profile, read.state, CATALOGUE, read.now)
    assert encode(again) == encode(read.verdicts)
    assert (read.catalogue, read.tzdata) == (CATALOGUE.hash, "2026.6")


def test_the_same_record_again_sends_the_same_bytes(role: Orchestrator, clock: Clock) -> None:
    first = take(role)
    clock.now += 5_000
    assert take(role).records == first.records


def test_the_same_record_under_a_new_profile_is_decided_again_under_the_next_revision(role: Orchestrator) -> None:
    take(role)
    set_profile(role, a_profile(version=8, channels={"email": False}))
    again = take(role)
    assert decision(again).notification.revision == 1
    assert "deliveries.email.normal" not in again.topics()


def test_another_record_of_the_same_event_has_no_effect(role: Orchestrator) -> None:
    take(role)
    assert take(role, origin="notify.events.low/2/9").records == []


def test_what_is_deferred_comes_back_by_a_timer_and_is_delivered_then(role: Orchestrator, clock: Clock) -> None:
    outgoing = take(role, send_at=NOW + 1_000)
    assert outgoing.topics() == ["state-log", "timers", "decisions"]
    operation = timer(outgoing)
    clock.now = operation.due_at
    back = Recording()
    role.take(arrived(bytes(operation.payload)), back)
    assert {"deliveries.inapp.normal", "deliveries.email.normal"} < set(back.topics())
    assert decision(back).notification.revision == 1
    assert decode_delivery(back.of("deliveries.email.normal")[0]).due_at == NOW + 1_000


def test_what_a_timer_brings_back_twice_is_sent_twice_with_the_same_bytes(role: Orchestrator, clock: Clock) -> None:
    operation = timer(take(role, send_at=NOW + 1_000))
    clock.now = operation.due_at
    first, second = Recording(), Recording()
    role.take(arrived(bytes(operation.payload)), first)
    clock.now += 700
    role.take(arrived(bytes(operation.payload)), second)
    assert first.records == second.records


def test_an_event_met_again_after_its_timer_came_does_not_open_it_again(role: Orchestrator, clock: Clock) -> None:
    """The whole batch is repeated after a kill: event, then what its timer brought back."""
    operation = timer(take(role, send_at=NOW + 1_000))
    clock.now = operation.due_at
    first = Recording()
    role.take(arrived(bytes(operation.payload)), first)
    clock.now += 700
    take(role, send_at=NOW + 1_000)
    second = Recording()
    role.take(arrived(bytes(operation.payload)), second)
    assert [r for r in second.records if r.topic != "state-log"] == [r for r in first.records if r.topic != "state-log"]


def test_a_switch_thrown_while_it_waits_counts_when_it_comes_back(role: Orchestrator, clock: Clock) -> None:
    operation = timer(take(role, send_at=NOW + 1_000))
    set_profile(role, a_profile(version=8, channels={"email": False}))
    clock.now = operation.due_at
    back = Recording()
    role.take(arrived(bytes(operation.payload)), back)
    assert "deliveries.email.normal" not in back.topics()
    assert "deliveries.inapp.normal" in back.topics()


def test_what_expired_on_the_way_is_not_delivered(role: Orchestrator, clock: Clock) -> None:
    """RTY-07"""
    clock.now = NOW + HOUR
    assert take(role).topics() == ["state-log", "decisions"]


@pytest.mark.parametrize(
    ("value", "key", "error"),
    [
        (encode(a_notification(type="gone")), b"ann", Exception),
        (b"{", b"ann", ValueError),
        (b'{"schema":"delivery.v1"}', b"ann", ValueError),
        (b"{}", b"ann", ValueError),
        (None, b"ann", NoUser),
        (encode(a_notification()), None, NoUser),
        (encode(a_notification()), b"", NoUser),
        (encode(a_notification()), b"\xff", NoUser),
        (encode(a_notification(notification_id="no uuid")), b"ann", ValueError),
        (encode(a_notification(send_at=2**70, expires_at=2**71)), b"ann", Exception),
    ],
)
def test_a_record_that_cannot_be_decided_leaves_no_state_and_no_sends(
    role: Orchestrator, state_table: Table, value: bytes | None, key: bytes | None, error: type[Exception]
) -> None:
    outgoing = Recording()
    with pytest.raises(error):
        role.take(arrived(value, key), outgoing)
    assert (outgoing.records, state_table.content()) == ([], {})


def test_a_database_that_refuses_is_no_fault_of_the_record(role: Orchestrator, state_table: Table) -> None:
    take(role)
    state_table.fail()
    with pytest.raises(StoreFailed):
        take(role, notification_id=an_id())


def test_users_on_one_partition_keep_states_of_their_own(role: Orchestrator) -> None:
    take(role)
    outgoing = Recording()
    role.take(arrived(encode(a_notification(user_id="bob")), b"bob"), outgoing)
    assert outgoing.records
    assert role.states.load(0, b"bob") != EMPTY
    assert role.states.load(0, b"cid") == EMPTY


def test_once_per_process_it_says_what_the_catalogues_hash_stands_for(role: Orchestrator) -> None:
    outgoing = Recording()
    role.announce(outgoing)
    role.announce(outgoing)
    [value] = outgoing.of("decisions")
    said = decode_decision(value)
    assert isinstance(said, CatalogueV1)
    assert (said.hash, bytes(said.body)) == (CATALOGUE.hash, encode(CATALOGUE))


def test_the_catalogue_is_said_again_each_day_so_that_it_is_kept_as_long_as_what_names_it(
    role: Orchestrator, clock: Clock
) -> None:
    outgoing = Recording()
    for _ in range(3):
        role.announce(outgoing)
        clock.now += 13 * 3_600_000
    assert len(outgoing.of("decisions")) == 2


def test_somebody_who_gets_thousands_is_told_of_none_twice_and_stops_nobody(role: Orchestrator) -> None:
    """A row of all of them outgrew a record after 40,000, and each one after that was a dead letter."""
    ids_ = [f"{number:08x}-2222-5333-8444-555555555555" for number in range(1_500)]
    outgoing = Recording(limit=16_000)
    for number, id_ in enumerate(ids_):
        role.take(arrived(encode(a_notification(notification_id=id_, origin=f"events/0/{number}"))), outgoing)
    again = Recording()
    role.take(arrived(encode(a_notification(notification_id=ids_[0], origin="events/0/0"))), again)
    assert again.of("deliveries.inapp.normal") == outgoing.of("deliveries.inapp.normal")[:1]
    assert take(role, notification_id=ids_[1], origin="elsewhere").records == []
