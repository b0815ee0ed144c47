import os
from datetime import UTC, datetime
from pathlib import Path

from notify_streams.local import status
from notify_streams.local.lock import StateLock
from notify_streams.local.status import Row, Status

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def _row(name: str, state: status.State = "ready") -> Row:
    return Row(name=name, kind="engine", state=state, since=NOW)


def test_another_terminal_reads_what_the_owner_wrote(tmp_path: Path) -> None:
    lock = StateLock(tmp_path)
    lock.take()
    written = Status(pid=os.getpid(), state="ready", since=NOW, rows=(_row("kafka"),))
    status.write(tmp_path, written)
    assert status.read(tmp_path) == written
    lock.release()
    assert status.read(tmp_path) is None


def test_a_directory_in_which_nothing_ever_ran_has_no_status(tmp_path: Path) -> None:
    assert status.read(tmp_path / "none") is None


def test_the_sentence_names_what_is_not_ready() -> None:
    rows = (_row("kafka"), _row("redis", "waiting"))
    assert Status(pid=1, state="ready", since=NOW, rows=rows).sentence() == "Ready. Not ready: redis."
    assert Status(pid=1, state="ready", since=NOW, rows=rows[:1]).sentence() == (
        "Everything is ready: 1 engine, 0 programs."
    )
