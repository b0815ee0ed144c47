"""A worker's tables are kept after an orderly end and at no other time."""

import os
from pathlib import Path

import pytest

from notify_streams import settings
from notify_streams.streaming import topics, trust

NOW = 1_796_000_000.0


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A worker's own, with two tables, its lock, and a neighbour's data beside it."""
    own = tmp_path / "scheduler-0"
    for file in (
        own / "lock",
        *(own / f"v1/tables/timers-{n}.db/000008.sst" for n in (0, 1)),
        tmp_path / "other-0/row",
    ):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"row")
        os.utime(file, (NOW - 10, NOW - 10))
    return own


def begun(directory: Path, now: float = NOW) -> bool:
    return trust.begin(directory, directory / "v1" / "tables", now)


def ended(directory: Path, at: float = NOW - 5) -> None:
    trust.end(directory)
    os.utime(directory / trust.MARK, (at, at))


def files(directory: Path) -> set[str]:
    return {str(path.relative_to(directory.parent)) for path in directory.parent.rglob("*") if path.is_file()}


BOTH = {f"scheduler-0/v1/tables/timers-{n}.db/000008.sst" for n in (0, 1)}
REST = {"scheduler-0/lock", "other-0/row"}


def test_without_a_mark_the_tables_are_deleted_and_nothing_else(directory: Path) -> None:
    assert not begun(directory)
    assert files(directory) == REST


def test_a_mark_is_good_for_one_start(directory: Path) -> None:
    ended(directory)
    assert begun(directory)
    assert files(directory) == BOTH | REST
    assert not begun(directory)
    assert files(directory) == REST


def test_a_mark_that_is_just_written_is_good(directory: Path) -> None:
    trust.end(directory)
    assert begun(directory, (directory / trust.MARK).stat().st_mtime + 0.001)


@pytest.mark.parametrize("age", [-1.0, trust.TRUSTED_S, trust.TRUSTED_S * 3])
def test_a_mark_from_the_future_or_from_too_long_ago_is_none(directory: Path, age: float) -> None:
    """Its clock was wrong, or the changelog has forgotten by now what was deleted."""
    ended(directory)
    assert not begun(directory, NOW - 5 + age)
    assert files(directory) == REST


def test_a_mark_is_none_once_somebody_wrote_to_the_tables_after_it(directory: Path) -> None:
    """A version before marks: it neither takes one away nor writes one."""
    ended(directory)
    newer = directory / "v1/tables/timers-1.db/000009.sst"
    newer.write_bytes(b"ahead")
    os.utime(newer, (NOW - 4, NOW - 4))
    assert not begun(directory)
    assert files(directory) == REST


def test_on_a_fresh_disk_there_is_nothing_to_delete_or_to_say(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert not begun(tmp_path)
    (tmp_path / "v1/tables/timers-backups").mkdir(parents=True)
    assert not begun(tmp_path)
    assert not caplog.records
    assert (tmp_path / "v1/tables/timers-backups").is_dir()


def test_what_is_deleted_is_told_with_its_size(directory: Path, caplog: pytest.LogCaptureFixture) -> None:
    begun(directory)
    assert [record.getMessage().split(":")[0] for record in caplog.records] == ["tables.distrusted bytes=6 files=2"]


def test_tables_that_lie_elsewhere_by_a_link_are_unlinked_and_left(directory: Path) -> None:
    elsewhere = directory.parent / "other-0"
    (directory / "v1/tables/timers-2.db").symlink_to(elsewhere)
    assert not begun(directory)
    assert files(directory) == REST


def test_a_mark_is_trusted_for_less_time_than_changelogs_keep_what_was_deleted() -> None:
    kept = [
        float(topic.config["delete.retention.ms"]) / 1000
        for topic in topics.all_topics(settings.Kafka())
        if topic.config["cleanup.policy"] == "compact"
    ]
    assert kept
    assert min(kept) > trust.TRUSTED_S + 86_400


def test_one_database_is_forgotten_and_a_missing_one_is_no_error(directory: Path) -> None:
    for _ in range(2):
        trust.forget(directory / "v1/tables/timers-1.db")
    assert files(directory) == BOTH - {"scheduler-0/v1/tables/timers-1.db/000008.sst"} | REST
