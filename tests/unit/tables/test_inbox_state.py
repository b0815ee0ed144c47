"""Sequences without gap or repeat."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.inbox import InboxHeader
from tables.inbox_state import InboxStates
from tests.builders import NOW
from tests.fakes import Recording, Table


@pytest.fixture
def states(table: Table) -> InboxStates:
    return InboxStates(table, "notify.")


def test_somebody_new_has_zeros_and_knows_nothing(states: InboxStates) -> None:
    assert states.header(0, b"ann") == InboxHeader()
    assert not states.knows(0, b"ann", b"print-1")


def test_items_get_the_next_sequence_and_count_as_unread_and_unseen(states: InboxStates, outgoing: Recording) -> None:
    given = [states.add(0, b"ann", print_, NOW, outgoing) for print_ in (b"one", b"two")]
    assert given == [(1, InboxHeader(1, 1, 1), True), (2, InboxHeader(2, 2, 2), True)]
    assert states.header(0, b"ann") == InboxHeader(2, 2, 2)


def test_an_item_that_comes_again_has_its_sequence_and_changes_nothing(
    states: InboxStates, outgoing: Recording
) -> None:
    for print_ in (b"one", b"two"):
        states.add(0, b"ann", print_, NOW, outgoing)
    queued = len(outgoing.records)
    assert states.add(0, b"ann", b"one", NOW, outgoing) == (1, InboxHeader(2, 2, 2), False)
    assert len(outgoing.records) == queued
    assert states.knows(0, b"ann", b"one")


@given(st.lists(st.tuples(st.sampled_from([b"ann", b"anna", b"bob"]), st.sampled_from([b"1", b"2", b"3"]))))
def test_in_any_order_and_however_often_sequences_are_gapless_per_user(
    tmp_path_factory: pytest.TempPathFactory, met: list[tuple[bytes, bytes]]
) -> None:
    table = Table(tmp_path_factory.mktemp("inbox"))
    states, given_out = InboxStates(table, "notify."), dict[bytes, dict[bytes, int]]()
    for user, print_ in met:
        sequence, _, new = states.add(0, user, print_, NOW, Recording())
        mine = given_out.setdefault(user, {})
        assert new == (print_ not in mine)
        assert mine.setdefault(print_, sequence) == sequence
    for user, mine in given_out.items():
        assert sorted(mine.values()) == list(range(1, len(mine) + 1))
        assert states.header(0, user) == InboxHeader(len(mine), len(mine), len(mine))
    table.fail()
