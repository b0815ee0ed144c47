"""One value per user, one read and one write."""

import msgspec
import pytest

from notify_streams.domain.dedup import MOST, WIDTH, WINDOW_MS, Seen, find, origin_print, remember
from schemas.codec import pack
from schemas.user_state import EMPTY, Pending, Stopped, UserState
from schemas.words import Reason
from tables.user_state import UserStates
from tests.builders import HOUR, NOW
from tests.fakes import Recording, Table


@pytest.fixture
def states(table: Table) -> UserStates:
    return UserStates(table, "notify.")


def test_somebody_new_has_an_empty_state(states: UserStates) -> None:
    assert states.load(0, b"ann") is EMPTY


def test_a_state_comes_back_as_it_was_stored(states: UserStates, outgoing: Recording) -> None:
    state = UserState(
        seen=b"p" * 25, pending={b"k": Pending(1, NOW)}, charged=b"c", stopped={b"s": Stopped(NOW, Reason.READ)}
    )
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


def met(states: UserStates, numbers: range, outgoing: Recording, *, every_ms: int) -> None:
    """One after the other, as the orchestrator does it."""
    for number in numbers:
        state, print_ = states.load(0, b"bot"), number.to_bytes(10, "big")
        state = states.recalled(0, b"bot", state, print_)
        row = remember(state.seen, print_, Seen(origin_print(str(number)), NOW + number * every_ms, 7, 1, 0))
        states.store(0, b"bot", msgspec.structs.replace(state, seen=row), outgoing)


def test_the_state_of_somebody_who_gets_thousands_stays_small_and_forgets_none_of_a_day(states: UserStates) -> None:
    met(states, range(3_000), Recording(), every_ms=1000)
    state = states.load(0, b"bot")
    assert len(pack(state)) < MOST + 100
    for number in range(3_000):
        print_ = number.to_bytes(10, "big")
        found = find(states.recalled(0, b"bot", state, print_).seen, print_)
        assert found is not None
        assert (found.origin, found.decided_at) == (origin_print(str(number)), NOW + number * 1000)
    assert states.recalled(0, b"bot", state, b"unknown...") is state
    assert states.recalled(1, b"bot", state, bytes(10)) is state


def test_an_older_print_that_was_met_again_counts_as_it_was_met_last(states: UserStates) -> None:
    met(states, range(1_000), Recording(), every_ms=5_000)
    state, print_ = states.load(0, b"bot"), (3).to_bytes(10, "big")
    again = Seen(origin_print("3"), NOW + 3 * HOUR, 8, 1, 1)
    row = remember(states.recalled(0, b"bot", state, print_).seen, print_, again)
    states.store(0, b"bot", msgspec.structs.replace(state, seen=row), Recording())
    met(states, range(3_000, 4_000), Recording(), every_ms=5_000)
    assert find(states.recalled(0, b"bot", states.load(0, b"bot"), print_).seen, print_) == again


def test_what_is_past_is_deleted_on_the_disk_and_on_the_changelog(states: UserStates, table: Table) -> None:
    outgoing = Recording()
    met(states, range(4_000), outgoing, every_ms=WINDOW_MS // 1_000)
    kept = len(table.content())
    assert kept < 1_000 + MOST // WIDTH + 50
    written = {r.key: r.value for r in outgoing.records}
    assert {key for key, value in written.items() if value is not None} == set(table.content())
