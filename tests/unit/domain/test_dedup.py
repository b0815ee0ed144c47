"""What a user's row of prints remembers, and for how long."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from notify_streams.domain.dedup import WIDTH, WINDOW_MS, Seen, Sighting, find, origin_print, print_of, remember, sight
from tests.builders import NOW

PRINTS = st.binary(min_size=10, max_size=10)
SEEN = st.builds(
    Seen,
    origin=st.binary(min_size=4, max_size=4),
    decided_at=st.integers(NOW, NOW + WINDOW_MS - 1),
    profile_version=st.integers(0, 2**16 - 1),
    verdicts=st.integers(0, 4**5 - 1),
    revision=st.integers(0, 255),
)


def seen(after: int = 0, origin: str = "events/0/7") -> Seen:
    return Seen(origin_print(origin), NOW + after, 7, 0b0101, 0)


def row_of(*prints: bytes, step: int = 1) -> bytes:
    row = b""
    for n, print_ in enumerate(prints):
        row = remember(row, print_, seen(n * step))
    return row


def test_a_print_is_25_bytes_wide() -> None:
    assert WIDTH == 25
    assert len(row_of(b"a" * 10, b"b" * 10)) == 50


def test_a_print_starts_with_ten_bytes_of_the_id() -> None:
    notification = UUID("0c8f4a5e-2b1d-5a3c-9f00-aa11bb22cc33")
    assert print_of(str(notification)) == notification.bytes[:10]


def test_an_empty_row_remembers_nothing() -> None:
    assert find(b"", b"a" * 10) is None


def test_first_meeting_same_record_and_another_record_are_told_apart() -> None:
    assert sight(None, "events/0/7") is Sighting.FRESH
    assert sight(seen(origin="events/0/7"), "events/0/7") is Sighting.REPEAT
    assert sight(seen(origin="events/0/7"), "events/1/7") is Sighting.DUPLICATE


@given(st.dictionaries(PRINTS, SEEN, max_size=20))
def test_whatever_was_remembered_within_a_day_is_found_as_it_was(met: dict[bytes, Seen]) -> None:
    row = b""
    for print_, entry in met.items():
        row = remember(row, print_, entry)
    assert {print_: find(row, print_) for print_ in met} == met
    assert len(row) == WIDTH * len(met)


@given(st.lists(PRINTS, min_size=1, max_size=30), PRINTS)
def test_what_was_never_remembered_is_not_found_whatever_the_bytes_of_others(known: list[bytes], other: bytes) -> None:
    assert (find(row_of(*known), other) is not None) == (other in known)


@given(st.lists(st.text("ab", min_size=10, max_size=10).map(str.encode), min_size=2, max_size=12, unique=True))
def test_prints_that_overlap_each_other_are_kept_apart(known: list[bytes]) -> None:
    row = row_of(*known)
    assert [find(row, print_) for print_ in known] == [seen(n) for n in range(len(known))]


def test_a_print_that_also_stands_at_an_odd_offset_is_found_at_its_own() -> None:
    first = b"0123456789"
    inside = row_of(first)[3:13]  # ends of the first print, then its fields
    row = remember(row_of(first), inside, seen(5))
    assert row.find(inside) == 3
    assert find(row, inside) == seen(5)


def test_a_print_found_only_at_an_odd_offset_is_unknown() -> None:
    row = row_of(b"0123456789", b"abcdefghij")
    assert find(row, row[3:13]) is None
    assert find(row, row[20:30]) is None


def test_remembered_again_it_stands_once_and_last() -> None:
    row = remember(row_of(b"a" * 10, b"b" * 10), b"a" * 10, seen(9))
    assert (row[:10], row[25:35], len(row)) == (b"b" * 10, b"a" * 10, 50)


@given(st.lists(st.tuples(PRINTS, st.integers(0, 3 * WINDOW_MS)), max_size=40))
def test_in_order_of_time_it_forgets_what_is_a_day_old_and_nothing_else(met: list[tuple[bytes, int]]) -> None:
    row, latest = b"", dict[bytes, int]()
    for print_, after in sorted(met, key=lambda one: one[1]):
        row = remember(row, print_, seen(after))
        latest[print_] = after
    newest = max(latest.values(), default=0)
    kept = {print_ for print_ in latest if find(row, print_) is not None}
    assert kept == {print_ for print_, after in latest.items() if after > newest - WINDOW_MS}


def test_the_last_millisecond_of_the_day_still_counts() -> None:
    row = remember(row_of(b"a" * 10), b"b" * 10, seen(WINDOW_MS - 1))
    assert find(row, b"a" * 10) is not None
    assert find(remember(row, b"c" * 10, seen(WINDOW_MS)), b"a" * 10) is None


def test_a_clock_that_goes_back_forgets_nothing_early() -> None:
    row = row_of(b"a" * 10, b"b" * 10, step=-WINDOW_MS // 2)
    assert find(row, b"a" * 10) is not None
    assert find(row, b"b" * 10) is not None


def test_a_profile_version_beyond_16_bits_is_kept_modulo() -> None:
    found = find(remember(b"", b"a" * 10, seen()._replace(profile_version=2**16 + 3)), b"a" * 10)
    assert found is not None
    assert found.profile_version == 3
