"""Sequences without gap or repeat."""

import pytest

from notify_streams.domain.ids import time_uuid
from notify_streams.domain.item_ids import key_of
from schemas.inbox import InboxEntry, InboxHeader
from tables.inbox_state import InboxStates, Room
from tests.builders import DAY, NOW
from tests.fakes import Recording, Table

MOST = 3


def key(number: int) -> bytes:
    return key_of(time_uuid(NOW + number, str(number)))


@pytest.fixture
def states(table: Table) -> InboxStates:
    return InboxStates(table, "notify.")


def add(states: InboxStates, number: int, outgoing: Recording) -> Room | None:
    return states.add(0, b"ann", key(number), InboxEntry(0, expires_at=NOW + DAY), MOST, outgoing).room


def test_somebody_new_has_zeros_and_knows_nothing(states: InboxStates) -> None:
    assert states.header(0, b"ann") == InboxHeader()
    assert states.entry(0, b"ann", key(1)) is None


def test_items_get_the_next_sequence_and_count_as_unread_and_unseen(states: InboxStates, outgoing: Recording) -> None:
    given = [states.add(0, b"ann", key(n), InboxEntry(0, expires_at=NOW + DAY), MOST, outgoing) for n in (1, 2)]
    assert [(one.sequence, one.header.unread, one.header.unseen, one.new) for one in given] == [
        (1, 1, 1, True),
        (2, 2, 2, True),
    ]
    assert states.header(0, b"ann") == given[1].header
    assert states.header(0, b"anna") == InboxHeader()


def test_an_item_that_comes_again_has_its_sequence_and_writes_nothing(states: InboxStates, outgoing: Recording) -> None:
    for number in (1, 2):
        add(states, number, outgoing)
    entry = states.entry(0, b"ann", key(1))
    assert entry is not None
    again = states.again(0, b"ann", key(1), entry)
    assert (again.sequence, again.header.sequence, again.new) == (1, 2, False)
    assert len(outgoing.records) == 4


def test_of_too_many_unread_the_oldest_makes_room_as_a_sequence_of_its_own(
    states: InboxStates, outgoing: Recording
) -> None:
    rooms = [add(states, number, outgoing) for number in range(1, 6)]
    assert [room and room.key for room in rooms] == [None, None, None, key(1), key(2)]
    header = states.header(0, b"ann")
    assert (header.sequence, header.unread, header.unseen) == (7, 3, 3)
    assert [entry.gone for entry in states.entries(0, b"ann").values()] == [1, 1, 0, 0, 0]


def test_what_is_older_than_what_made_room_makes_room_next(states: InboxStates, outgoing: Recording) -> None:
    for number in range(5, 9):
        add(states, number, outgoing)
    add(states, 1, outgoing)
    room = add(states, 9, outgoing)
    assert room is not None
    assert room.key == key(1)
