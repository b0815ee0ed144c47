"""A table read and written by the partition of an event."""

import pytest
from faust.types import TP
from hypothesis import given
from hypothesis import strategies as st

from notify_streams.streaming.outgoing import TooLarge
from tables.by_event import ByEvent, StoreFailed
from tests.fakes import Recording, Table


@pytest.fixture
def by_event(table: Table) -> ByEvent:
    return ByEvent(table, "notify.")


def test_what_was_written_is_read_from_its_own_partition_alone(by_event: ByEvent, outgoing: Recording) -> None:
    by_event.write(2, b"ann", b"v", outgoing)
    assert (by_event.get(2, b"ann"), by_event.get(0, b"ann")) == (b"v", None)


def test_every_write_is_queued_for_the_changelog_of_the_same_partition(by_event: ByEvent, outgoing: Recording) -> None:
    by_event.write(2, b"ann", b"v", outgoing)
    by_event.delete(2, b"ann", outgoing)
    assert [(r.topic, r.partition, r.key, r.value) for r in outgoing.records] == [
        ("the-changelog", 2, b"ann", b"v"),
        ("the-changelog", 2, b"ann", None),
    ]
    assert by_event.get(2, b"ann") is None


def test_entries_come_in_key_order_from_the_first_bound_up_to_the_second(
    by_event: ByEvent, outgoing: Recording
) -> None:
    for n in (5, 1, 4, 2, 3):
        by_event.write(0, bytes([n]), b"v%d" % n, outgoing)
    assert by_event.items(0, b"\x02", b"\x04", 10) == [(b"\x02", b"v2"), (b"\x03", b"v3")]
    assert by_event.items(0, b"\x00", b"\xff", 2) == [(b"\x01", b"v1"), (b"\x02", b"v2")]
    assert by_event.items(0, b"\x04", b"\x04", 10) == []
    assert by_event.items(0, b"\x05", b"\x01", 10) == []
    assert by_event.items(1, b"\x00", b"\xff", 10) == []


def test_only_its_own_changelogs_offsets_are_noted(by_event: ByEvent, table: Table) -> None:
    by_event.acknowledged({TP("notify.the-changelog", 1): 41, TP("notify.decisions", 1): 7})
    assert table.persisted == {TP("notify.the-changelog", 1): 41}


def test_a_database_that_refuses_is_no_data_error(by_event: ByEvent, table: Table, outgoing: Recording) -> None:
    by_event.write(0, b"ann", b"v", outgoing)
    table.fail()
    for call in (
        lambda: by_event.get(0, b"ann"),
        lambda: by_event.write(0, b"ann", b"v", outgoing),
        lambda: by_event.delete(0, b"ann", outgoing),
        lambda: by_event.items(0, b"a", b"z", 1),
    ):
        with pytest.raises(StoreFailed):
            call()


def test_what_the_changelog_cannot_take_is_not_written(by_event: ByEvent, table: Table) -> None:
    with pytest.raises(TooLarge):
        by_event.write(0, b"ann", b"v" * 100, Recording(limit=50))
    assert table.content() == {}


@given(st.dictionaries(st.binary(min_size=1, max_size=4), st.binary(max_size=4), max_size=20))
def test_the_changelog_alone_gives_the_table_again(
    tmp_path_factory: pytest.TempPathFactory, met: dict[bytes, bytes]
) -> None:
    outgoing, table = Recording(), Table(tmp_path_factory.mktemp("table"))
    by_event = ByEvent(table, "notify.")
    for key, value in met.items():
        by_event.write(0, key, b"old", outgoing)
        by_event.write(0, key, value, outgoing)
        if not value:
            by_event.delete(0, key, outgoing)
    replayed = {r.key: r.value for r in outgoing.records}
    assert {key: value for key, value in replayed.items() if value is not None} == table.content()
    table.fail()
