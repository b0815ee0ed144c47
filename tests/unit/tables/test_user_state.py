"""One value per user, one read and one write."""

import pytest

from schemas.user_state import EMPTY, Pending, UserState
from tables.user_state import UserStates
from tests.builders import NOW
from tests.fakes import Recording, Table


@pytest.fixture
def states(table: Table) -> UserStates:
    return UserStates(table, "notify.")


def test_somebody_new_has_an_empty_state(states: UserStates) -> None:
    assert states.load(0, b"ann") is EMPTY


def test_a_state_comes_back_as_it_was_stored(states: UserStates, outgoing: Recording) -> None:
    state = UserState(seen=b"p" * 25, pending={b"k": Pending(1, NOW)}, charged=(NOW,), stopped={b"s": NOW})
    states.store(0, b"ann", state, outgoing)
    assert states.load(0, b"ann") == state
    assert states.load(1, b"ann") is EMPTY
    assert states.load(0, b"anna") is EMPTY


def test_one_store_is_one_changelog_record_under_a_key_of_the_users_own(
    states: UserStates, outgoing: Recording
) -> None:
    states.store(3, b"ann", EMPTY, outgoing)
    [record] = outgoing.records
    assert (record.topic, record.partition, record.key) == ("the-changelog", 3, b"\x00\x03anns")
