"""Rows that travel together."""

from hypothesis import given
from hypothesis import strategies as st

from notify_streams.stores.groups import BYTES, ROWS, grouped

rows = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2 * BYTES)))


@given(rows)
def test_every_row_is_in_one_group_of_its_owner_within_the_bounds(given_rows: list[tuple[str, int]]) -> None:
    groups = grouped(given_rows, owner=lambda row: row[0], size=lambda row: row[1])
    assert sorted(row for group in groups for row in group) == sorted(given_rows)
    for group in groups:
        assert len({owner for owner, _ in group}) == 1
        assert len(group) <= ROWS
        assert len(group) == 1 or sum(size for _, size in group) <= BYTES


def test_rows_of_one_owner_fill_groups_in_order() -> None:
    groups = grouped(range(ROWS + 1), owner=lambda _: "a", size=lambda _: 1)
    assert [list(group) for group in groups] == [list(range(ROWS)), [ROWS]]
