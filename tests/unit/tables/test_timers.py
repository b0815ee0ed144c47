"""Timers: one per id, released when due, never left behind."""

import struct
from typing import Any

import msgspec
import pytest

from schemas.timers import CancelTimerV1, MoveTimerV1
from schemas.words import Lane
from tables.timers import Timers, due_of, is_entry
from tests.builders import NOW, a_timer
from tests.fakes import Recording, Table

ANN, BOB = b"ann", b"bob"


@pytest.fixture
def timers(table: Table) -> Timers:
    return Timers(table, "notify.")


def due(timers: Timers, now: int = NOW, limit: int = 100) -> list[tuple[str, int]]:
    """Id and revision of what is due, in order. A fresh look, as after a restart."""
    timers.forget_cursors()
    found = [(entry.timer_id, entry.revision) for _, _, entry in timers.take([0], now, limit)]
    timers.forget_cursors()
    return found


def move(due_at: int, revision: int = 2, payload: bytes | None = None) -> MoveTimerV1:
    given: dict[str, Any] = {} if payload is None else {"payload": msgspec.Raw(payload)}
    return MoveTimerV1(timer_id="retry/1", due_at=due_at, revision=revision, **given)


def a_cancel(revision: int) -> CancelTimerV1:
    return CancelTimerV1(timer_id="retry/1", revision=revision)


def test_a_timer_is_due_at_its_instant_and_not_before(timers: Timers, outgoing: Recording) -> None:
    assert timers.put(0, ANN, a_timer(due_at=NOW), outgoing)
    assert (timers.due_since(0, NOW - 1), timers.due_since(0, NOW), timers.due_since(0, NOW + 9)) == (None, NOW, NOW)
    assert due(timers, NOW - 1) == []
    [(_, key, entry)] = timers.take([0], NOW, 10)
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
    [(_, _, entry)] = timers.take([0], NOW, 10)
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
    assert [entry.user for _, _, entry in timers.take([0], NOW, 10)] == [BOB]


@pytest.mark.parametrize("due_at", [NOW + 50, NOW])
def test_moved_it_keeps_target_and_payload_unless_another_is_given(
    timers: Timers, outgoing: Recording, due_at: int
) -> None:
    timers.put(0, ANN, a_timer(lane="high"), outgoing)
    assert timers.move(0, ANN, move(due_at), outgoing)
    timers.forget_cursors()
    [(_, key, entry)] = timers.take([0], due_at, 10)
    assert (due_of(key), entry.revision, entry.payload) == (due_at, 2, b'{"attempt":2}')
    assert entry.target == "deliveries.email.high"
    timers.move(0, ANN, move(due_at, 3, b'{"other":1}'), outgoing)
    assert [e.payload for _, _, e in timers.take([0], due_at, 10)] == [b'{"other":1}']


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
    timers.released(timers.take([0], NOW + 10, 10), outgoing)
    assert table.content() == {}
    assert {r.key: r.value for r in outgoing.records if r.value is not None}.keys() <= {
        r.key for r in outgoing.records if r.value is None
    }


@pytest.mark.parametrize("due_at", [NOW, NOW + 5, NOW - 5])
def test_put_again_while_it_is_being_released_the_new_one_stays(
    timers: Timers, outgoing: Recording, due_at: int
) -> None:
    timers.put(0, ANN, a_timer(due_at=NOW), outgoing)
    sending = timers.take([0], NOW, 10)
    timers.put(0, ANN, a_timer(due_at=due_at, revision=2), outgoing)
    timers.released(sending, outgoing)
    assert [(e.timer_id, e.revision) for _, _, e in timers.take([0], NOW + 10, 10)] == [("retry/1", 2)]


@pytest.mark.parametrize("due_at", [NOW, NOW + 5, NOW - 5])
def test_moved_under_the_same_revision_while_it_is_being_released_it_comes_again(
    timers: Timers, outgoing: Recording, due_at: int
) -> None:
    """A plan made anew is a move to now: where that is the old due time, nothing but the move tells them apart."""
    timers.put(0, ANN, a_timer(due_at=NOW), outgoing)
    sending = timers.take([0], NOW, 10)
    assert timers.move(0, ANN, move(due_at, revision=1, payload=b'{"again":1}'), outgoing)
    assert timers.released(sending, outgoing) == 0
    again = timers.take([0], NOW + 10, 10)
    assert [(due.at, due.entry.revision, due.entry.payload) for due in again] == [(due_at, 1, b'{"again":1}')]
    assert timers.released(again, outgoing) == 1


def test_moved_away_and_back_while_it_is_being_released_it_comes_again(timers: Timers, outgoing: Recording) -> None:
    timers.put(0, ANN, a_timer(due_at=NOW), outgoing)
    sending = timers.take([0], NOW, 10)
    timers.move(0, ANN, move(NOW + 60_000, revision=1), outgoing)
    timers.move(0, ANN, move(NOW, revision=1), outgoing)
    timers.released(sending, outgoing)
    assert len(timers.take([0], NOW, 10)) == 1


def test_what_is_put_before_something_under_way_does_not_hand_that_out_again(
    timers: Timers, outgoing: Recording
) -> None:
    timers.put(0, ANN, a_timer("b", NOW), outgoing)
    timers.take([0], NOW, 10)
    timers.put(0, ANN, a_timer("a", NOW), outgoing)
    assert [due.entry.timer_id for due in timers.take([0], NOW, 10)] == ["a"]


def test_taken_a_second_time_before_the_first_is_released_it_is_forgotten_by_the_second_alone(
    timers: Timers, table: Table, outgoing: Recording
) -> None:
    timers.put(0, ANN, a_timer(due_at=NOW), outgoing)
    first = timers.take([0], NOW, 10)
    timers.put(0, ANN, a_timer(due_at=NOW), outgoing)
    second = timers.take([0], NOW, 10)
    assert (timers.released(first, outgoing), len(table.content())) == (0, 2)
    assert (timers.released(second, outgoing), table.content()) == (1, {})


def test_cancelled_while_it_is_being_released_nothing_is_left(
    timers: Timers, table: Table, outgoing: Recording
) -> None:
    timers.put(0, ANN, a_timer(), outgoing)
    sending = timers.take([0], NOW, 10)
    timers.cancel(0, ANN, a_cancel(1), outgoing)
    timers.released(sending, outgoing)
    assert table.content() == {}


def test_what_is_put_during_a_release_and_due_earlier_is_found_at_once(timers: Timers, outgoing: Recording) -> None:
    """It once stayed behind the cursor until the next restart."""
    timers.put(0, ANN, a_timer("late", NOW), outgoing)
    sending = timers.take([0], NOW, 10)
    timers.put(0, ANN, a_timer("early", NOW - 60_000), outgoing)
    timers.released(sending, outgoing)
    assert [entry.timer_id for _, _, entry in timers.take([0], NOW, 10)] == ["early"]


def test_what_is_put_after_a_release_and_due_earlier_is_found_too(timers: Timers, outgoing: Recording) -> None:
    timers.put(0, ANN, a_timer("late", NOW), outgoing)
    timers.released(timers.take([0], NOW, 10), outgoing)
    timers.put(0, ANN, a_timer("early", NOW - 60_000), outgoing)
    assert timers.due_since(0, NOW) is not None
    assert [entry.timer_id for _, _, entry in timers.take([0], NOW, 10)] == ["early"]


def test_what_is_under_way_is_not_handed_out_twice(timers: Timers, outgoing: Recording) -> None:
    for n in range(4):
        timers.put(0, ANN, a_timer(f"t{n}", NOW + n), outgoing)
    slices = [[entry.timer_id for _, _, entry in timers.take([0], NOW + 10, 2)] for _ in range(3)]
    assert slices == [["t0", "t1"], ["t2", "t3"], []]


def test_a_slice_that_ends_at_a_timer_goes_on_with_one_whose_id_begins_like_it(
    timers: Timers, outgoing: Recording
) -> None:
    for user, id_ in ((ANN, "t"), (ANN, "t" + "\uffff"), (ANN, "t1"), (BOB, "t")):
        timers.put(0, user, a_timer(id_, NOW), outgoing)
    assert sum(len(timers.take([0], NOW, 1)) for _ in range(5)) == 4


def test_after_a_crash_before_the_release_it_is_due_again(table: Table, outgoing: Recording) -> None:
    first = Timers(table, "notify.")
    first.put(0, ANN, a_timer(), outgoing)
    first.take([0], NOW, 10)
    assert [entry.timer_id for _, _, entry in Timers(table, "notify.").take([0], NOW, 10)] == ["retry/1"]


def test_what_recovery_wrote_behind_the_cursors_is_found_once_they_are_forgotten(
    timers: Timers, table: Table, outgoing: Recording
) -> None:
    timers.put(0, ANN, a_timer("late", NOW), outgoing)
    timers.released(timers.take([0], NOW, 10), outgoing)
    Timers(table, "notify.").put(0, ANN, a_timer("early", NOW - 60_000), outgoing)
    timers.forget_cursors()
    assert [entry.timer_id for _, _, entry in timers.take([0], NOW, 10)] == ["early"]


def test_partitions_do_not_see_each_other(timers: Timers, outgoing: Recording) -> None:
    timers.put(1, ANN, a_timer(), outgoing)
    assert timers.due_since(0, NOW) is None
    assert timers.due_since(1, NOW) is not None


def test_high_of_every_partition_comes_before_low_of_any(timers: Timers, outgoing: Recording) -> None:
    lanes: list[Lane] = ["low", "normal", "high"]
    for partition in range(3):
        for lane in lanes:
            for n in range(4):
                timers.put(partition, ANN, a_timer(f"{lane}{n}", NOW - n, lane=lane), outgoing)
    slices = [timers.take([0, 1, 2], NOW, 9) for _ in range(4)]
    order = [due.entry.target.rpartition(".")[2] for slice_ in slices for due in slice_]
    assert order == ["high"] * 12 + ["normal"] * 12 + ["low"] * 12
    for partition in range(3):
        mine = [due for slice_ in slices for due in slice_ if due.partition == partition]
        assert [due.entry.timer_id for due in mine[:4]] == ["high3", "high2", "high1", "high0"]


def test_partitions_have_equal_shares_and_what_one_leaves_the_others_get(timers: Timers, outgoing: Recording) -> None:
    for partition, count in ((0, 100), (1, 100), (2, 3)):
        for n in range(count):
            timers.put(partition, ANN, a_timer(f"t{n:03}", NOW), outgoing)
    taken = [due.partition for due in timers.take([0, 1, 2], NOW, 30)]
    assert (len(taken), taken.count(2)) == (30, 3)
    assert abs(taken.count(0) - taken.count(1)) <= 1


def test_with_less_room_than_partitions_each_gets_its_turn(timers: Timers, outgoing: Recording) -> None:
    for partition in range(5):
        timers.put(partition, ANN, a_timer(due_at=NOW), outgoing)
    rounds = [timers.take(range(5), NOW, 2) for _ in range(4)]
    assert [len(taken) for taken in rounds] == [2, 2, 1, 0]
    assert {due.partition for taken in rounds for due in taken} == set(range(5))


def test_nothing_is_taken_where_there_is_no_room(timers: Timers, outgoing: Recording) -> None:
    timers.put(0, ANN, a_timer(due_at=NOW), outgoing)
    assert timers.take([0], NOW, 0) == []
    assert len(timers.take([0], NOW, 1)) == 1


def test_the_database_knows_about_how_many_wait(timers: Timers, outgoing: Recording) -> None:
    for n in range(500):
        timers.put(0, ANN, a_timer(f"t{n}"), outgoing)
    assert 450 <= timers.about(0) <= 550
    assert timers.about(1) == 0


def test_the_entries_of_a_user_are_known_by_their_keys(timers: Timers, table: Table, outgoing: Recording) -> None:
    for user in (ANN, b"anna", BOB):
        timers.put(0, user, a_timer(), outgoing)
    assert len([key for key in table.content() if is_entry(key, ANN)]) == 1


def test_fausts_own_key_in_the_database_is_no_timer(timers: Timers, table: Table, outgoing: Recording) -> None:
    table._db_for_partition(0).put(b"__faust\x00offset__", b"41")
    timers.put(0, ANN, a_timer(), outgoing)
    assert len(timers.take([0], 2**62, 10)) == 1


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
