"""A user's waiting timers, from the changelog that the scheduler writes."""

import msgspec
import pytest

from schemas.codec import encode
from schemas.notifications import FlushV1
from schemas.timers import CancelTimerV1, MoveTimerV1, PutTimerV1
from schemas.words import Lane
from tables.timers import Timers
from tables.waiting import Waiting, WaitingOf
from tests.builders import A_NOTIFICATION, NOW, a_delivery, a_notification, a_timer
from tests.fakes import Recording, Table


@pytest.fixture
def timers(table: Table) -> Timers:
    return Timers(table, "notify.")


def told(outgoing: Recording, user: str = "ann") -> list[Waiting]:
    waiting = WaitingOf(user)
    waiting.take([(record.key or b"", record.value) for record in outgoing.records])
    return waiting.all()


def bringing(record: msgspec.Struct, timer_id: str = "t", lane: Lane = "normal") -> PutTimerV1:
    payload = msgspec.Raw(encode(record))
    return PutTimerV1(timer_id=timer_id, due_at=NOW, revision=1, target="stops", payload=payload, lane=lane)


def test_what_waits_is_listed_in_order_of_due_time(timers: Timers, outgoing: Recording) -> None:
    for n in (3, 1, 2):
        timers.put(0, b"ann", a_timer(f"t{n}", NOW + n, lane="low" if n == 1 else "high"), outgoing)
    assert [(one.timer_id, one.due_at, one.lane) for one in told(outgoing)] == [
        ("t1", NOW + 1, "low"),
        ("t2", NOW + 2, "high"),
        ("t3", NOW + 3, "high"),
    ]


def test_moved_it_is_listed_once_and_released_or_cancelled_not_at_all(timers: Timers, outgoing: Recording) -> None:
    for id_ in ("moved", "cancelled", "released"):
        timers.put(0, b"ann", a_timer(id_, NOW), outgoing)
    timers.move(0, b"ann", MoveTimerV1(timer_id="moved", due_at=NOW + 60_000, revision=1), outgoing)
    timers.cancel(0, b"ann", CancelTimerV1(timer_id="cancelled", revision=1), outgoing)
    timers.released(timers.take([0], NOW, 10), outgoing)
    assert [(one.timer_id, one.due_at) for one in told(outgoing)] == [("moved", NOW + 60_000)]


def test_timers_of_others_are_not_listed(timers: Timers, outgoing: Recording) -> None:
    for user in (b"ann", b"anna", b"an"):
        timers.put(0, user, a_timer(user.decode()), outgoing)
    assert [one.timer_id for one in told(outgoing)] == ["ann"]
    assert told(outgoing, "nobody") == []


def test_a_notification_is_told_by_its_type_its_channels_and_its_id(timers: Timers, outgoing: Recording) -> None:
    timers.put(0, b"ann", bringing(a_notification()), outgoing)
    [one] = told(outgoing)
    assert one.brings == "order.confirmed, to be decided again for inapp and email"
    assert (one.schema, one.type, one.notification_id) == ("notification.v1", "order.confirmed", A_NOTIFICATION)


def test_a_delivery_is_told_by_its_channel_and_attempt_and_never_by_its_address(
    timers: Timers, outgoing: Recording
) -> None:
    timers.put(0, b"ann", bringing(a_delivery(attempt=3)), outgoing)
    [one] = told(outgoing)
    assert one.brings == "order.confirmed by email to home, attempt 3"
    assert (one.schema, one.notification_id) == ("delivery.v1", A_NOTIFICATION)
    assert b"@" not in msgspec.json.encode(one)


def test_the_end_of_a_window_is_told_by_its_number(timers: Timers, outgoing: Recording) -> None:
    flush = FlushV1(channel="email", window="digest/social", number=4, due_at=NOW)
    timers.put(0, b"ann", bringing(flush), outgoing)
    [one] = told(outgoing)
    assert (one.brings, one.schema) == ("the end of window 4 of digest/social on email", "flush.v1")


def test_what_is_not_known_is_listed_by_its_target(timers: Timers, outgoing: Recording) -> None:
    timers.put(0, b"ann", a_timer(), outgoing)
    [one] = told(outgoing)
    assert (one.brings, one.schema) == ("13 bytes for deliveries.email.normal", "")
