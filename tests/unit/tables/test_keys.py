"""Keys that keep users apart and timers in order."""

from hypothesis import given
from hypothesis import strategies as st

from schemas.words import LANE_BYTES, LANES, Lane
from tables.keys import of_user
from tables.timers import _entry_key, _index_key, due_of

USERS = st.text(min_size=1, max_size=128).map(str.encode)


def test_a_key_is_length_user_kind_and_rest() -> None:
    assert of_user(b"ann", b"s") == b"\x00\x03anns"
    assert of_user("änn".encode(), b"i", b"print") == b"\x00\x04" + "änn".encode() + b"iprint"


@given(USERS, USERS, st.binary(max_size=4), st.binary(max_size=4))
def test_no_users_key_starts_with_anothers(one: bytes, other: bytes, kind: bytes, rest: bytes) -> None:
    if one != other:
        assert not of_user(one, kind, rest).startswith(of_user(other, b""))


@given(st.sampled_from([b"ann", b"anns", b"a", b"nns"]), st.sampled_from([b"ann", b"anns", b"a", b"nns"]))
def test_users_that_begin_alike_do_not_meet(one: bytes, other: bytes) -> None:
    assert (of_user(one, b"s") == of_user(other, b"s")) == (one == other)


DUE = st.tuples(st.sampled_from(LANES), st.integers(0, 2**53), USERS, st.text(min_size=1))


@given(DUE, DUE)
def test_entries_are_in_order_of_lane_then_due_time(
    one: tuple[Lane, int, bytes, str], other: tuple[Lane, int, bytes, str]
) -> None:
    keys = [_entry_key(LANE_BYTES[lane], due, user, id_) for lane, due, user, id_ in (one, other)]
    by_lane_and_due = [(LANE_BYTES[lane], due) for lane, due, _, _ in (one, other)]
    if by_lane_and_due[0] != by_lane_and_due[1]:
        assert (keys[0] < keys[1]) == (by_lane_and_due[0] < by_lane_and_due[1])
    assert [due_of(key) for key in keys] == [one[1], other[1]]


@given(DUE, USERS, st.text(min_size=1))
def test_the_index_lies_behind_all_entries(entry: tuple[Lane, int, bytes, str], user: bytes, timer_id: str) -> None:
    lane, due, owner, id_ = entry
    assert _index_key(user, timer_id) > _entry_key(LANE_BYTES[lane], due, owner, id_)


def test_lane_bytes_entries_and_index_are_written_like_this_for_ever() -> None:
    assert LANE_BYTES == {"high": 0, "normal": 1, "low": 2}
    assert _entry_key(1, 1_790_000_000_000, b"ann", "retry/1").hex() == "01000001a0c4506c000003616e6e72657472792f31"
    assert _index_key(b"ann", "retry/1") == b"i\x00\x03annretry/1"
