"""Timer operations in; a table that holds them."""

import pytest

from agents.schedule import Scheduler
from notify_streams.streaming.deadletters import DeadLetters
from notify_streams.streaming.keyed import NoUser
from schemas.codec import encode
from schemas.timers import CancelTimerV1, MoveTimerV1
from tables.timers import Timers
from tests.builders import NOW, a_timer
from tests.fakes import Clock, Recording, Table, an_app, arrived


@pytest.fixture
def scheduler(state_table: Table, clock: Clock) -> Scheduler:
    timers = Timers(state_table, "notify.")
    targets = ["deliveries.email.normal", "notifications.normal"]
    return Scheduler(an_app(), timers, DeadLetters("scheduler", 20), targets=targets, clock=clock)


def test_put_move_and_cancel_are_carried_out_on_the_records_partition(
    scheduler: Scheduler, outgoing: Recording
) -> None:
    scheduler.take(arrived(encode(a_timer(due_at=NOW)), partition=2), outgoing)
    assert scheduler.timers.is_due(2, NOW)
    scheduler.take(arrived(encode(MoveTimerV1(timer_id="retry/1", due_at=NOW + 9, revision=2)), partition=2), outgoing)
    assert (scheduler.timers.is_due(2, NOW), scheduler.timers.is_due(2, NOW + 9)) == (False, True)
    scheduler.take(arrived(encode(CancelTimerV1(timer_id="retry/1", revision=2)), partition=2), outgoing)
    assert not scheduler.timers.is_due(2, NOW + 9)
    assert {record.partition for record in outgoing.records} == {2}


def test_the_timer_belongs_to_the_records_user(scheduler: Scheduler, outgoing: Recording) -> None:
    scheduler.take(arrived(encode(a_timer()), b"bob"), outgoing)
    scheduler.take(arrived(encode(CancelTimerV1(timer_id="retry/1", revision=9)), b"ann"), outgoing)
    [(_, entry)] = scheduler.timers.due(0, NOW, 10)
    assert entry.user == b"bob"


@pytest.mark.parametrize("target", ["elsewhere", "", "notify.notifications.normal", "deliveries.email.high"])
def test_a_timer_that_would_return_to_no_topic_is_refused(
    scheduler: Scheduler, state_table: Table, outgoing: Recording, target: str
) -> None:
    value = encode(a_timer()).replace(b'"deliveries.email.normal"', b'"%s"' % target.encode())
    with pytest.raises(ValueError, match=r"\$\.target: there is no topic"):
        scheduler.take(arrived(value), outgoing)
    assert (outgoing.records, state_table.content()) == ([], {})


@pytest.mark.parametrize(
    ("value", "key", "error"),
    [
        (None, b"ann", NoUser),
        (b"{", b"ann", ValueError),
        (b'{"schema":"stop-time.v1"}', b"ann", ValueError),
        (encode(a_timer()), None, NoUser),
        (encode(a_timer()), b"\xff", NoUser),
        (encode(a_timer(due_at=-1)), b"ann", Exception),
    ],
)
def test_a_record_that_is_no_operation_leaves_no_state(
    scheduler: Scheduler,
    state_table: Table,
    outgoing: Recording,
    value: bytes | None,
    key: bytes | None,
    error: type[Exception],
) -> None:
    with pytest.raises(error):
        scheduler.take(arrived(value, key), outgoing)
    assert (outgoing.records, state_table.content()) == ([], {})
