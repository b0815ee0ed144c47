"""Timers: one per id, released when due, never left behind."""

import shutil
import struct
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from schemas.timers import CancelTimerV1, MoveTimerV1
from schemas.words import LANES, Lane
from tables.timers import Timers, due_of
from tests.builders import NOW, a_timer
from tests.fakes import Recording, Table

ANN, BOB = b"ann", b"bob"


@pytest.fixture
def timers(table: Table) -> Timers:
    return Timers(table, "notify.")


def due(timers: Timers, now: int = NOW, limit: int = 100) -> list[tuple[str, int]]:
    """Id and revision of what is due, in order. A fresh look, as after a restart."""
    timers.forget_cursors()
    found = [(entry.timer_id, entry.revision) for _, entry in timers.due(0, now, limit)]
    timers.forget_cursors()
    return found


def move(due_at: int, revision: int = 2, payload: bytes | None = None) -> MoveTimerV1:
    given: dict[str, Any] = {} if payload is None else {"payload": msgspec.Raw(payload)}
    return MoveTimerV1(timer_id="retry/1", due_at=due_at, revision=revision, **given)


def a_cancel(revision: int) -> CancelTimerV1:
    return CancelTimerV1(timer_id="retry/1", revision=revision)


def test_a_timer_is_due_at_its_instant_and_not_before(timers: Timers, outgoing: Recording) -> None:
    assert timers.put(0, ANN, a_timer(due_at=NOW), outgoing)
    assert (timers.is_due(0, NOW - 1), timers.is_due(0, NOW)) == (False, True)
    assert due(timers, NOW - 1) == []
    [(key, entry)] = timers.due(0, NOW, 10)
    assert (entry.user, entry.timer_id, entry.revision) == (ANN, "retry/1", 1)
    assert (entry.target, entry.payload) == ("deliveries.email.normal", b'{"attempt":2}')
    assert due_of(key) == NOW


def test_high_comes_first_then_what_was_due_earlier(timers: Timers, outgoing: Recording) -> None:
    plan: list[tuple[Lane, int]] = [("low", 1), ("normal", 3), ("high", 9), ("normal", 2), ("high", 8)]
    for lane, after in plan:
        timers.put(0, ANN, a_timer(f"{lane}{after}", NOW + after, lane=lane), outgoing)
    assert [id_ for id_, _ in due(timers, NOW + 10)] == ["high8", "high9", "normal2", "normal3", "low1"]
    assert [id_ for id_, _ in due(timers, NOW + 10, 3)] == ["high8", "high9", "normal2"]


def test_put_again_it_has_moved(timers: Timers, outgoing: Recording) -> None:
    assert timers.put(0, ANN, a_timer(due_at=NOW), outgoing)
    assert not timers.put(0, ANN, a_timer(due_at=NOW + 50, revision=2), outgoing)
    assert due(timers) == []
    assert due(timers, NOW + 50) == [("retry/1", 2)]


def test_the_same_put_again_changes_nothing(timers: Timers, table: Table, outgoing: Recording) -> None:
    timers.put(0, ANN, a_timer(), outgoing)
    before = table.content()
    timers.put(0, ANN, a_timer(), outgoing)
    assert table.content() == before


def test_put_again_on_another_lane_it_stands_there_alone(timers: Timers, outgoing: Recording) -> None:
    timers.put(0, ANN, a_timer(lane="low"), outgoing)
    timers.put(0, ANN, a_timer(lane="high"), outgoing)
    [(_, entry)] = timers.due(0, NOW, 10)
    assert entry.target == "deliveries.email.high"


def test_an_older_revision_is_ignored(timers: Timers, outgoing: Recording) -> None:
    timers.put(0, ANN, a_timer(revision=3, due_at=NOW + 5), outgoing)
    assert not timers.put(0, ANN, a_timer(revision=2, due_at=NOW), outgoing)
    assert not timers.move(0, ANN, move(NOW, 2), outgoing)
    assert not timers.cancel(0, ANN, a_cancel(2), outgoing)
    assert due(timers, NOW + 5) == [("retry/1", 3)]


def test_two_users_may_have_timers_of_the_same_id(timers: Timers, outgoing: Recording) -> None:
    timers.put(0, ANN, a_timer(), outgoing)
    timers.put(0, BOB, a_timer(), outgoing)
    timers.cancel(0, ANN, a_cancel(1), outgoing)
    assert [entry.user for _, entry in timers.due(0, NOW, 10)] == [BOB]


@pytest.mark.parametrize("due_at", [NOW + 50, NOW])
def test_moved_it_keeps_target_and_payload_unless_another_is_given(
    timers: Timers, outgoing: Recording, due_at: int
) -> None:
    timers.put(0, ANN, a_timer(lane="high"), outgoing)
    assert timers.move(0, ANN, move(due_at), outgoing)
    timers.forget_cursors()
    [(key, entry)] = timers.due(0, due_at, 10)
    assert (due_of(key), entry.revision, entry.payload) == (due_at, 2, b'{"attempt":2}')
    assert entry.target == "deliveries.email.high"
    timers.move(0, ANN, move(due_at, 3, b'{"other":1}'), outgoing)
    assert [e.payload for _, e in timers.due(0, due_at, 10)] == [b'{"other":1}']


def test_what_is_not_there_cannot_be_moved_or_cancelled(timers: Timers, table: Table, outgoing: Recording) -> None:
    assert not timers.move(0, ANN, move(NOW), outgoing)
    assert not timers.cancel(0, ANN, a_cancel(9), outgoing)
    assert (table.content(), outgoing.records) == ({}, [])


def test_cancelled_it_leaves_nothing(timers: Timers, table: Table, outgoing: Recording) -> None:
    timers.put(0, ANN, a_timer(), outgoing)
    assert timers.cancel(0, ANN, a_cancel(1), outgoing)
    assert table.content() == {}


def test_released_it_leaves_nothing_here_or_in_the_changelog(timers: Timers, table: Table, outgoing: Recording) -> None:
    for n in range(5):
        timers.put(0, ANN, a_timer(f"t{n}", NOW + n), outgoing)
    timers.released(0, timers.due(0, NOW + 10, 10), outgoing)
    assert table.content() == {}
    assert {r.key: r.value for r in outgoing.records if r.value is not None}.keys() <= {
        r.key for r in outgoing.records if r.value is None
    }


@pytest.mark.parametrize("due_at", [NOW, NOW + 5, NOW - 5])
def test_put_again_while_it_is_being_released_the_new_one_stays(
    timers: Timers, outgoing: Recording, due_at: int
) -> None:
    timers.put(0, ANN, a_timer(due_at=NOW), outgoing)
    sending = timers.due(0, NOW, 10)
    timers.put(0, ANN, a_timer(due_at=due_at, revision=2), outgoing)
    timers.released(0, sending, outgoing)
    assert [(e.timer_id, e.revision) for _, e in timers.due(0, NOW + 10, 10)] == [("retry/1", 2)]


def test_cancelled_while_it_is_being_released_nothing_is_left(
    timers: Timers, table: Table, outgoing: Recording
) -> None:
    timers.put(0, ANN, a_timer(), outgoing)
    sending = timers.due(0, NOW, 10)
    timers.cancel(0, ANN, a_cancel(1), outgoing)
    timers.released(0, sending, outgoing)
    assert table.content() == {}


def test_what_is_put_during_a_release_and_due_earlier_is_found_at_once(timers: Timers, outgoing: Recording) -> None:
    """It once stayed behind the cursor until the next restart."""
    timers.put(0, ANN, a_timer("late", NOW), outgoing)
    sending = timers.due(0, NOW, 10)
    timers.put(0, ANN, a_timer("early", NOW - 60_000), outgoing)
    timers.released(0, sending, outgoing)
    assert [entry.timer_id for _, entry in timers.due(0, NOW, 10)] == ["early"]


def test_what_is_put_after_a_release_and_due_earlier_is_found_too(timers: Timers, outgoing: Recording) -> None:
    timers.put(0, ANN, a_timer("late", NOW), outgoing)
    timers.released(0, timers.due(0, NOW, 10), outgoing)
    timers.put(0, ANN, a_timer("early", NOW - 60_000), outgoing)
    assert timers.is_due(0, NOW)
    assert [entry.timer_id for _, entry in timers.due(0, NOW, 10)] == ["early"]


def test_what_is_under_way_is_not_handed_out_twice(timers: Timers, outgoing: Recording) -> None:
    for n in range(4):
        timers.put(0, ANN, a_timer(f"t{n}", NOW + n), outgoing)
    slices = [[entry.timer_id for _, entry in timers.due(0, NOW + 10, 2)] for _ in range(3)]
    assert slices == [["t0", "t1"], ["t2", "t3"], []]


def test_a_slice_that_ends_at_a_timer_goes_on_with_one_whose_id_begins_like_it(
    timers: Timers, outgoing: Recording
) -> None:
    for user, id_ in ((ANN, "t"), (ANN, "t" + "\uffff"), (ANN, "t1"), (BOB, "t")):
        timers.put(0, user, a_timer(id_, NOW), outgoing)
    assert sum(len(timers.due(0, NOW, 1)) for _ in range(5)) == 4


def test_after_a_crash_before_the_release_it_is_due_again(table: Table, outgoing: Recording) -> None:
    first = Timers(table, "notify.")
    first.put(0, ANN, a_timer(), outgoing)
    first.due(0, NOW, 10)
    assert [entry.timer_id for _, entry in Timers(table, "notify.").due(0, NOW, 10)] == ["retry/1"]


def test_what_recovery_wrote_behind_the_cursors_is_found_once_they_are_forgotten(
    timers: Timers, table: Table, outgoing: Recording
) -> None:
    timers.put(0, ANN, a_timer("late", NOW), outgoing)
    timers.released(0, timers.due(0, NOW, 10), outgoing)
    Timers(table, "notify.").put(0, ANN, a_timer("early", NOW - 60_000), outgoing)
    timers.forget_cursors()
    assert [entry.timer_id for _, entry in timers.due(0, NOW, 10)] == ["early"]


def test_partitions_do_not_see_each_other(timers: Timers, outgoing: Recording) -> None:
    timers.put(1, ANN, a_timer(), outgoing)
    assert not timers.is_due(0, NOW)
    assert timers.is_due(1, NOW)


def test_fausts_own_key_in_the_database_is_no_timer(timers: Timers, table: Table, outgoing: Recording) -> None:
    table._db_for_partition(0).put(b"__faust\x00offset__", b"41")
    timers.put(0, ANN, a_timer(), outgoing)
    assert len(timers.due(0, 2**62, 10)) == 1


@pytest.mark.parametrize("due_at", [-1, 2**64])
def test_an_instant_that_cannot_be_is_refused_and_leaves_everything_as_it_was(
    timers: Timers, table: Table, outgoing: Recording, due_at: int
) -> None:
    timers.put(0, ANN, a_timer(), outgoing)
    before, queued = table.content(), len(outgoing.records)
    with pytest.raises((struct.error, OverflowError)):
        timers.put(0, ANN, a_timer(due_at=due_at, revision=2), outgoing)
    with pytest.raises((struct.error, OverflowError)):
        timers.move(0, ANN, move(due_at), outgoing)
    assert (table.content(), len(outgoing.records)) == (before, queued)


IDS = st.sampled_from(["a", "b", "c"])
USERS = st.sampled_from([ANN, BOB])
INSTANTS = st.integers(NOW - 50, NOW + 50)
REVISIONS = st.integers(0, 4)


class Schedule(RuleBasedStateMachine):
    """Any history of operations, releases in two halves and restarts, against a plain dictionary."""

    @initialize()
    def start(self) -> None:
        self.table = Table(Path(tempfile.mkdtemp()))
        self.timers, self.outgoing = Timers(self.table, "notify."), Recording()
        self.model: dict[tuple[bytes, str], tuple[int, int, Lane]] = {}
        self.sending: list[Any] = []
        self.now = NOW

    @rule(user=USERS, id_=IDS, due_at=INSTANTS, revision=REVISIONS, lane=st.sampled_from(LANES))
    def put(self, user: bytes, id_: str, due_at: int, revision: int, lane: Lane) -> None:
        self.timers.put(0, user, a_timer(id_, due_at, revision, lane=lane), self.outgoing)
        known = self.model.get((user, id_))
        if known is None or known[1] <= revision:
            self.model[user, id_] = (due_at, revision, lane)

    @rule(user=USERS, id_=IDS, due_at=INSTANTS, revision=REVISIONS)
    def move(self, user: bytes, id_: str, due_at: int, revision: int) -> None:
        moved = self.timers.move(0, user, MoveTimerV1(timer_id=id_, due_at=due_at, revision=revision), self.outgoing)
        known = self.model.get((user, id_))
        assert moved == (known is not None and known[1] <= revision)
        if known is not None and moved:
            self.model[user, id_] = (due_at, revision, known[2])

    @rule(user=USERS, id_=IDS, revision=REVISIONS)
    def cancel(self, user: bytes, id_: str, revision: int) -> None:
        known = self.model.get((user, id_))
        gone = self.timers.cancel(0, user, CancelTimerV1(timer_id=id_, revision=revision), self.outgoing)
        assert gone == (known is not None and known[1] <= revision)
        if gone:
            del self.model[user, id_]

    @rule(limit=st.sampled_from([1, 2, 100]))
    def send(self, limit: int) -> None:
        """Everything that is due, and nothing else; no more than asked for."""
        if not self.sending:
            self.sending = self.timers.due(0, self.now, limit)
            due = {name for name, (due_at, _, _) in self.model.items() if due_at <= self.now}
            found = [(entry.user, entry.timer_id) for _, entry in self.sending]
            assert len(found) == len(set(found)) == min(limit, len(due))
            assert set(found) <= due

    @rule()
    def release(self) -> None:
        self.timers.released(0, self.sending, self.outgoing)
        for key, entry in self.sending:
            known = self.model.get((entry.user, entry.timer_id))
            if known == (due_of(key), entry.revision, LANES[key[0]]):
                del self.model[entry.user, entry.timer_id]
        self.sending = []

    @rule(later=st.integers(0, 20))
    def wait(self, later: int) -> None:
        self.now += later

    @rule()
    def restart(self) -> None:
        self.timers, self.sending = Timers(self.table, "notify."), []

    @invariant()
    def an_entry_and_its_place_are_both_there_or_neither(self) -> None:
        if hasattr(self, "model"):
            assert len(self.table.content()) == 2 * len(self.model)

    def teardown(self) -> None:
        if hasattr(self, "table"):
            self.table.fail()
            shutil.rmtree(self.table.folder)


TestSchedule = Schedule.TestCase
TestSchedule.settings = settings(max_examples=40, stateful_step_count=30)
