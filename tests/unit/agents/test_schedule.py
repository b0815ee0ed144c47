"""Timer operations in; a table that holds them."""

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest
from faust.types import TP

from agents.schedule import ABREAST, DUE_HEADER, PER_TICK, ROUND, Scheduler
from notify_streams.streaming.app import App
from notify_streams.streaming.deadletters import DeadLetters
from notify_streams.streaming.keyed import NoUser
from schemas.codec import encode
from schemas.timers import CancelTimerV1, MoveTimerV1
from tables.timers import Timers
from tests.builders import NOW, a_timer
from tests.fakes import Clock, Recording, Table, an_app, arrived
from tests.raw_producer import RawProducer

EMAIL = "notify.deliveries.email.normal"


class Owning(RawProducer):
    """An app that owns some partitions of `ticks` and keeps what is sent there."""

    def __init__(self, *partitions: int) -> None:
        super().__init__()
        self.topic_prefix, self.rebalancing, self.consumer_generation_id = "notify.", False, 1
        self.unsettled = 0
        self.tables = SimpleNamespace(actives_ready=True)
        owned = {TP("notify.ticks", p) for p in partitions} | {TP("notify.timers", 9)}
        self.consumer = SimpleNamespace(assignment=lambda: owned)
        self.raw_producer = self
        self.ticks: list[int] = []

    async def send_and_wait(self, topic: str, *, value: bytes, partition: int) -> None:
        assert (topic, value) == ("notify.ticks", b"tick")
        self.ticks.append(partition)


async def begun(scheduler: Scheduler) -> asyncio.Task[int]:
    """A release whose first rounds are with the broker."""
    releasing = asyncio.create_task(scheduler.release())
    for _ in range(5):
        await asyncio.sleep(0)
    return releasing


def a_scheduler(app: App, table: Table, clock: Clock) -> Scheduler:
    targets = ["deliveries.email.normal", "notifications.normal"]
    return Scheduler(app, Timers(table, "notify."), DeadLetters("scheduler", 20), targets=targets, clock=clock)


@pytest.fixture
def scheduler(state_table: Table, clock: Clock) -> Scheduler:
    return a_scheduler(an_app(), state_table, clock)


@pytest.fixture
def owning() -> Owning:
    return Owning(0, 2)


@pytest.fixture
def ticking(owning: Owning, state_table: Table, clock: Clock) -> Scheduler:
    return a_scheduler(cast(App, owning), state_table, clock)


async def test_only_something_due_on_an_owned_partition_wakes_the_agent(
    ticking: Scheduler, owning: Owning, outgoing: Recording
) -> None:
    for partition in (1, 2):
        ticking.timers.put(partition, b"ann", a_timer(due_at=NOW), outgoing)
    ticking.timers.put(0, b"ann", a_timer(due_at=NOW + 1), outgoing)
    await ticking.tick()
    assert owning.ticks == [2]


async def test_one_tick_is_enough_for_all_partitions(
    ticking: Scheduler, owning: Owning, clock: Clock, outgoing: Recording
) -> None:
    for partition in (0, 2):
        ticking.timers.put(partition, b"ann", a_timer(due_at=NOW), outgoing)
    await ticking.tick()
    assert owning.ticks == [0]
    assert {due.partition for due in ticking.send(ticking.owned(), 10, outgoing)} == {0, 2}


async def test_the_agent_is_woken_at_most_ten_times_a_second(
    ticking: Scheduler, owning: Owning, clock: Clock, outgoing: Recording
) -> None:
    ticking.timers.put(0, b"ann", a_timer(due_at=NOW), outgoing)
    for _ in range(10):
        await ticking.tick()
        clock.now += 50
    assert owning.ticks == [0] * 5


async def test_a_clock_that_is_set_back_does_not_keep_the_agent_asleep(
    ticking: Scheduler, owning: Owning, clock: Clock, outgoing: Recording
) -> None:
    ticking.timers.put(0, b"ann", a_timer(due_at=NOW - 7_200_000), outgoing)
    await ticking.tick()
    await ticking.release()
    ticking.timers.put(0, b"ann", a_timer(due_at=NOW - 7_200_000), outgoing)
    clock.now -= 3_600_000
    await ticking.tick()
    assert owning.ticks == [0, 0]
    assert ticking.is_wanted(clock.now)


async def test_a_tick_is_dropped_for_a_release_since_and_never_for_its_age(ticking: Scheduler, clock: Clock) -> None:
    assert ticking.is_wanted(NOW - 600_000)
    await ticking.release()
    clock.now += 5_000
    assert not ticking.is_wanted(NOW - 1)
    assert ticking.is_wanted(NOW + 1)


async def test_released_each_payload_is_on_its_topic_with_its_due_time_and_nothing_is_left(
    ticking: Scheduler, owning: Owning, state_table: Table, outgoing: Recording
) -> None:
    for partition in (0, 2):
        ticking.timers.put(partition, b"ann", a_timer(due_at=NOW - 5), outgoing)
    assert await ticking.release() == 2
    sent = [record for record in owning.taken if record.topic == EMAIL]
    assert [(record.partition, record.key, record.value) for record in sent] == [
        (partition, b"ann", b'{"attempt":2}') for partition in (0, 2)
    ]
    assert {record.headers[DUE_HEADER] for record in sent} == {str(NOW - 5).encode()}
    assert (state_table.content(0), state_table.content(2)) == ({}, {})


async def test_nothing_is_forgotten_before_the_broker_has_it(
    ticking: Scheduler, owning: Owning, state_table: Table, outgoing: Recording
) -> None:
    ticking.timers.put(0, b"ann", a_timer(due_at=NOW), outgoing)
    before, owning.holding = state_table.content(), True
    releasing = await begun(ticking)
    assert (owning.values(EMAIL), state_table.content()) == ([b'{"attempt":2}'], before)
    owning.holding = False
    owning.answer()
    assert (await releasing, state_table.content()) == (1, {})


async def test_moved_while_it_is_being_sent_it_is_sent_again(
    ticking: Scheduler, owning: Owning, outgoing: Recording
) -> None:
    ticking.timers.put(0, b"ann", a_timer(due_at=NOW), outgoing)
    owning.holding = True
    releasing = await begun(ticking)
    move = MoveTimerV1(timer_id="retry/1", due_at=NOW, revision=1)
    ticking.take(arrived(encode(move)), outgoing)
    owning.holding = False
    owning.answer()
    assert await releasing == 2
    assert len(owning.values(EMAIL)) == 2


async def test_cancelled_in_the_midst_of_a_release_what_was_sent_is_due_again(
    ticking: Scheduler, owning: Owning, outgoing: Recording
) -> None:
    ticking.timers.put(0, b"ann", a_timer(due_at=NOW), outgoing)
    owning.holding = True
    releasing = await begun(ticking)
    releasing.cancel()
    await asyncio.wait([releasing])
    assert ticking.timers.due_since(0, NOW) is not None


async def test_what_stood_still_comes_in_portions_and_operations_get_their_turn_between_two_rounds(
    ticking: Scheduler, owning: Owning, outgoing: Recording
) -> None:
    for n in range(PER_TICK + 10):
        ticking.timers.put(n % 2 * 2, b"ann", a_timer(f"t{n}", NOW - n), outgoing)
    owning.holding = True
    releasing = asyncio.create_task(ticking.release())
    rounds = []
    while not releasing.done():
        await asyncio.sleep(0)
        rounds.append(len(owning.values(EMAIL)))
        owning.answer()
    assert releasing.result() == PER_TICK
    seen = sorted(set(rounds))
    assert max(after - before for before, after in zip([0, *seen], seen, strict=False)) <= ABREAST * ROUND


async def test_high_that_is_put_in_the_midst_of_a_release_is_in_the_next_round(
    ticking: Scheduler, owning: Owning, outgoing: Recording
) -> None:
    for n in range(2 * ABREAST * ROUND):
        ticking.timers.put(0, b"ann", a_timer(f"t{n}", NOW), outgoing)
    owning.holding = True
    releasing = await begun(ticking)
    ticking.timers.put(2, b"bob", a_timer("urgent", NOW, lane="high"), outgoing)
    owning.holding = False
    owning.answer()
    await releasing
    topics = [record.topic for record in owning.taken if record.topic.startswith("notify.deliveries")]
    assert topics.index("notify.deliveries.email.high") == ABREAST * ROUND


async def test_a_rebalance_ends_a_release_after_its_round(
    ticking: Scheduler, owning: Owning, outgoing: Recording
) -> None:
    for n in range(2 * ABREAST * ROUND):
        ticking.timers.put(0, b"ann", a_timer(f"t{n}", NOW), outgoing)
    owning.holding = True
    releasing = await begun(ticking)
    owning.rebalancing, owning.holding = True, False
    owning.answer()
    assert await releasing == ABREAST * ROUND


async def test_during_a_rebalance_and_a_recovery_nothing_is_woken(
    ticking: Scheduler, owning: Owning, outgoing: Recording
) -> None:
    ticking.timers.put(0, b"ann", a_timer(due_at=NOW), outgoing)
    owning.rebalancing = True
    await ticking.tick()
    owning.rebalancing, owning.tables.actives_ready = False, False
    await ticking.tick()
    assert owning.ticks == []


async def test_after_a_rebalance_between_two_ticks_what_others_put_earlier_is_found(
    ticking: Scheduler, owning: Owning, state_table: Table, outgoing: Recording
) -> None:
    ticking.timers.put(0, b"ann", a_timer("late", NOW), outgoing)
    await ticking.tick()
    ticking.timers.released(ticking.timers.take([0], NOW, 10), outgoing)
    Timers(state_table, "notify.").put(0, b"ann", a_timer("early", NOW - 60_000), outgoing)  # as recovery writes it
    owning.consumer_generation_id = 2
    await ticking.tick()
    assert [due.entry.timer_id for due in ticking.timers.take([0], NOW, 10)] == ["early"]


def test_put_move_and_cancel_are_carried_out_on_the_records_partition(
    scheduler: Scheduler, outgoing: Recording
) -> None:
    scheduler.take(arrived(encode(a_timer(due_at=NOW)), partition=2), outgoing)
    assert scheduler.timers.due_since(2, NOW) == NOW
    scheduler.take(arrived(encode(MoveTimerV1(timer_id="retry/1", due_at=NOW + 9, revision=2)), partition=2), outgoing)
    assert (scheduler.timers.due_since(2, NOW), scheduler.timers.due_since(2, NOW + 9)) == (None, NOW + 9)
    scheduler.take(arrived(encode(CancelTimerV1(timer_id="retry/1", revision=2)), partition=2), outgoing)
    assert scheduler.timers.due_since(2, NOW + 9) is None
    assert {record.partition for record in outgoing.records} == {2}


def test_the_timer_belongs_to_the_records_user(scheduler: Scheduler, outgoing: Recording) -> None:
    scheduler.take(arrived(encode(a_timer()), b"bob"), outgoing)
    scheduler.take(arrived(encode(CancelTimerV1(timer_id="retry/1", revision=9)), b"ann"), outgoing)
    [due] = scheduler.timers.take([0], NOW, 10)
    assert due.entry.user == b"bob"


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
