"""Stops in, gates out; and deliveries that wait until the stops before them are known."""

import asyncio
from types import SimpleNamespace
from typing import cast

import msgspec
import pytest
from aiokafka.errors import KafkaTimeoutError
from faust.types import TP

from agents import gates as module
from agents.gates import Gatekeeper
from notify_streams.domain.gate import Ended, Send, may_still_send
from notify_streams.streaming.app import App
from notify_streams.streaming.deadletters import DeadLetters
from notify_streams.streaming.keyed import NoUser
from notify_streams.streaming.outgoing import Offsets, Outgoing
from schemas.codec import encode
from schemas.stops import OPEN, StopV1, decode_stop
from schemas.words import Reason
from tables.by_event import StoreFailed
from tables.gates import Gates
from tests.builders import A_NOTIFICATION, HOUR, NOW, a_delivery
from tests.fakes import Clock, Recording, Table, arrived

STOP = StopV1(at=NOW, until=NOW + HOUR, notification_id=A_NOTIFICATION)


class Broker:
    """The log of `stops`; away for the number of calls that it is told."""

    def __init__(self) -> None:
        self.log: dict[int, list[bytes]] = {}
        self.away = self.asked = 0


class Marking(Recording):
    """Goes to that log."""

    def __init__(self, broker: Broker) -> None:
        super().__init__()
        self._broker = broker

    async def flush(self) -> Offsets:
        broker = self._broker
        broker.asked += 1
        await asyncio.sleep(0)
        if broker.away:
            broker.away -= 1
            raise KafkaTimeoutError
        for record in self.records:
            assert (record.topic, record.key) == ("stops", None)
            broker.log.setdefault(record.partition, []).append(record.value or b"")
        return {TP("notify.stops", r.partition): len(broker.log[r.partition]) - 1 for r in self.records}


class Keeper(Gatekeeper):
    """Puts its marks on that log."""

    broker: Broker

    def outgoing(self) -> Outgoing:
        return Marking(self.broker)


class Place:
    """A gatekeeper on that log. `handle` lets its agent take everything up to an offset."""

    def __init__(self, table: Table, clock: Clock) -> None:
        self.broker, self.interrupted = Broker(), False
        self.app = SimpleNamespace(consumer_generation_id=1)
        self.keeper = Keeper(
            cast(App, self.app),
            Gates(table, "notify."),
            DeadLetters("stops", 20),
            interrupted=lambda: self.interrupted,
            patience_s=0.5,
            clock=clock,
        )
        self.keeper.broker = self.broker

    def handle(self, partition: int = 0, upto: int | None = None) -> None:
        for offset, value in enumerate(self.broker.log.get(partition, [])[:upto]):
            self.keeper.take(arrived(value, b"ann", partition=partition), Recording())
            self.keeper.handled(partition, offset)

    async def waiting(self, *partitions: int) -> "asyncio.Task[bool]":
        """A delivery agent that has just met these partitions."""
        task = asyncio.ensure_future(self.keeper.caught_up(partitions or (0,)))
        await asyncio.sleep(0.01)
        return task


@pytest.fixture
def place(state_table: Table, clock: Clock) -> Place:
    return Place(state_table, clock)


def take(place: Place, stop: StopV1 | bytes, key: bytes | None = b"ann") -> Recording:
    outgoing = Recording()
    place.keeper.take(arrived(stop if isinstance(stop, bytes) else encode(stop), key), outgoing)
    return outgoing


def test_a_stop_closes_its_users_gate_and_its_changelog_record_goes_out_with_the_batch(place: Place) -> None:
    outgoing = take(place, STOP)
    assert [(r.topic, r.partition, r.key) for r in outgoing.records] == [("state-log", 0, b"ann")]
    assert may_still_send(a_delivery(), place.keeper.gate(0, b"ann"), NOW, ()) == Ended(Reason.CANCELLED)
    assert may_still_send(a_delivery(), place.keeper.gate(0, b"bob"), NOW, ()) == Send()


def test_a_stop_that_comes_twice_changes_nothing(place: Place) -> None:
    """Killed between handling and commit, all since the last commit comes again."""
    version = StopV1(at=NOW, until=NOW + HOUR, version=8)
    for stop in (STOP, version):
        take(place, stop)
    before = place.keeper.gate(0, b"ann")
    for stop in (STOP, version):
        take(place, stop)
    assert place.keeper.gate(0, b"ann") == before


@pytest.mark.parametrize("key", [b"ann", None])
def test_a_stop_that_is_past_and_a_mark_leave_nothing(place: Place, key: bytes | None) -> None:
    assert take(place, StopV1(at=NOW, until=NOW), key).records == []
    assert take(place, StopV1(at=NOW + HOUR, until=0), key).records == []


def test_gates_of_which_all_is_past_are_swept_away_by_later_stops(place: Place, clock: Clock) -> None:
    for number in range(8):
        take(place, msgspec.structs.replace(STOP, until=NOW + 1), b"u%d" % number)
    clock.now += 1
    for _ in range(7):
        take(place, STOP)
    assert all(place.keeper.gate(0, b"u%d" % number) is OPEN for number in range(8))
    assert place.keeper.gate(0, b"ann") != OPEN


@pytest.mark.parametrize(
    ("value", "key", "error"),
    [
        (b"{", b"ann", ValueError),
        (b"", b"ann", ValueError),
        (b'{"schema":"delivery.v1"}', b"ann", ValueError),
        (encode(STOP), None, NoUser),
        (encode(msgspec.structs.replace(STOP, notification_id="no uuid")), b"ann", ValueError),
    ],
)
def test_a_record_that_is_no_stop_is_refused_and_leaves_nothing(
    place: Place, state_table: Table, value: bytes, key: bytes | None, error: type[Exception]
) -> None:
    with pytest.raises(error):
        take(place, value, key)
    assert state_table.content() == {}


def test_a_database_that_refuses_is_no_fault_of_the_record(place: Place, state_table: Table) -> None:
    take(place, STOP)
    state_table.fail()
    with pytest.raises(StoreFailed):
        take(place, STOP)


async def test_deliveries_wait_until_the_stops_before_them_are_known(place: Place) -> None:
    place.broker.log[0] = [encode(STOP)]
    task = await place.waiting()
    assert not task.done()
    place.handle(upto=1)
    await asyncio.sleep(0.01)
    assert not task.done()
    assert place.keeper.gate(0, b"ann") != OPEN
    place.handle()
    assert await task


async def test_nothing_on_stops_is_no_obstacle(place: Place) -> None:
    task = await place.waiting()
    [mark] = place.broker.log[0]
    assert decode_stop(mark).until == 0
    place.handle()
    assert await task


async def test_places_without_a_record_are_no_obstacle(place: Place) -> None:
    """A transaction's marker, what retention took: the offsets before the mark never come."""
    place.broker.log[0] = [b""] * 40
    task = await place.waiting()
    place.keeper.handled(0, 40)
    assert await task


async def test_an_agent_that_meets_the_mark_before_its_sender_hears_of_it_counts(place: Place) -> None:
    place.keeper.handled(0, 0)
    assert await place.keeper.caught_up([0])


async def test_once_caught_up_nobody_waits_until_the_next_assignment(place: Place) -> None:
    task = await place.waiting()
    place.handle()
    assert await task
    assert await place.keeper.caught_up([0])
    assert place.broker.asked == 1
    place.app.consumer_generation_id = 2
    task = await place.waiting()
    assert (place.broker.asked, task.done()) == (2, False)
    place.handle()
    assert await task


async def test_each_partition_is_caught_up_by_itself_and_all_at_once(place: Place) -> None:
    task = await place.waiting(0, 1)
    assert (place.broker.asked, sorted(place.broker.log)) == (1, [0, 1])
    place.handle(0)
    await asyncio.sleep(0.01)
    assert not task.done()
    place.handle(1)
    assert await task


async def test_several_agents_wait_together(place: Place) -> None:
    tasks = [await place.waiting() for _ in range(3)]
    place.handle()
    async with asyncio.timeout(0.1):
        assert await asyncio.gather(*tasks) == [True] * 3


async def test_a_stop_or_a_rebalance_ends_the_wait_and_the_next_one_begins_anew(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK_S", 0.01)
    task = await place.waiting()
    place.interrupted = True
    async with asyncio.timeout(1):
        assert not await task
    assert not await place.keeper.caught_up([0])
    assert place.broker.asked == 1  # nothing is written by whoever is about to go
    place.interrupted = False
    task = await place.waiting()
    place.handle()
    assert await task


async def test_a_broker_that_comes_back_in_time_is_waited_for(place: Place) -> None:
    place.broker.away = 2
    task = await place.waiting()
    while place.broker.asked < 3:  # noqa: ASYNC110  the broker sets no event
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.01)
    place.handle()
    assert await task


async def test_where_kafka_stays_away_the_process_ends(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    class Left(Exception):
        pass

    def leave(why: str) -> None:
        raise Left(why)

    monkeypatch.setattr(module, "leave", leave)
    place.broker.away = 99
    with pytest.raises(Left, match=r"gates\.unmarked"):
        await place.keeper.caught_up([0])
