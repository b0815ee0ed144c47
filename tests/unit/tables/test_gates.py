"""Gates by user, and a table that stays as small as what still holds."""

import pytest

from schemas.stops import OPEN, Gate, GateStop, decode_gate
from schemas.words import Reason
from tables.by_event import StoreFailed
from tables.gates import Gates
from tests.builders import HOUR, NOW
from tests.fakes import Recording, Table

GATE = Gate(7, NOW + HOUR, {b"0123456789": GateStop(NOW + HOUR, Reason.READ, ("email",))})


@pytest.fixture
def gates(table: Table) -> Gates:
    return Gates(table, "notify.")


def test_somebody_of_whom_nothing_was_said_has_an_open_gate(gates: Gates) -> None:
    assert gates.load(0, b"ann") is OPEN


def test_a_gate_is_read_as_it_was_written_and_its_users_alone(gates: Gates, outgoing: Recording) -> None:
    gates.store(0, b"ann", GATE, outgoing)
    assert gates.load(0, b"ann") == GATE
    assert gates.load(0, b"anna") == gates.load(0, b"an") == gates.load(1, b"ann") == OPEN
    [record] = outgoing.records
    assert (record.topic, record.partition, record.key) == ("the-changelog", 0, b"ann")
    assert decode_gate(record.value or b"") == GATE


def test_what_is_past_is_swept_away_a_few_at_a_time_and_what_holds_stays(
    gates: Gates, table: Table, outgoing: Recording
) -> None:
    for number in range(10):
        until = NOW + HOUR if number % 3 else NOW - 1
        gates.store(0, b"u%d" % number, Gate(1, until), outgoing)
    for _ in range(5):
        gates.sweep(0, NOW, 2, outgoing)
    assert sorted(table.content()) == [b"u%d" % n for n in range(10) if n % 3]
    gone = [r.key for r in outgoing.records if r.value is None]
    assert gone == [b"u0", b"u3", b"u6", b"u9"]


def test_a_sweep_begins_again_at_the_first_user(gates: Gates, table: Table, outgoing: Recording) -> None:
    for name in (b"a", b"b", b"c"):
        gates.store(0, name, Gate(1, NOW + HOUR), outgoing)
    gates.sweep(0, NOW, 2, outgoing)
    gates.sweep(0, NOW, 2, outgoing)
    gates.store(0, b"a", Gate(1, NOW), outgoing)
    gates.sweep(0, NOW, 2, outgoing)
    assert sorted(table.content()) == [b"b", b"c"]


def test_a_sweep_leaves_what_faust_keeps_in_the_same_database_alone(
    gates: Gates, table: Table, outgoing: Recording
) -> None:
    own = b"__faust\0offset__"
    table._db_for_partition(0).put(own, b"17")
    gates.store(0, b"__fb", Gate(1, NOW), outgoing)
    gates.sweep(0, NOW, 10, outgoing)
    assert table.content() == {own: b"17"}


def test_partitions_are_swept_each_by_itself(gates: Gates, table: Table, outgoing: Recording) -> None:
    for partition in (0, 1):
        gates.store(partition, b"ann", Gate(1, NOW), outgoing)
    gates.sweep(0, NOW, 5, outgoing)
    assert (table.content(0), len(table.content(1))) == ({}, 1)
    gates.sweep(1, NOW, 5, outgoing)
    assert table.content(1) == {}


def test_a_database_that_refuses_is_named(gates: Gates, table: Table, outgoing: Recording) -> None:
    gates.store(0, b"ann", GATE, outgoing)
    table.fail()
    with pytest.raises(StoreFailed):
        gates.load(0, b"ann")
