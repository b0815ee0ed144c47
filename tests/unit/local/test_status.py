import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from notify_streams.local import status
from notify_streams.local.lock import StateLock
from notify_streams.local.status import Row, Status

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def _row(name: str, state: status.State = "ready", pid: int | None = None) -> Row:
    return Row(name=name, kind="engine", state=state, since=NOW, pid=pid)


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


@pytest.mark.parametrize(
    ("state", "rows", "sentence"),
    [
        ("ready", (_row("kafka"),), "Everything is ready: 1 engine, 0 programs."),
        ("ready", (_row("kafka"), _row("redis", "waiting")), "Running, but not all is ready: redis."),
        ("starting", (_row("kafka", "starting"), _row("redis")), "Starting; not yet ready: kafka."),
        ("stopping", (_row("kafka", pid=7), _row("redis", "stopped")), "Stopping; these still run: kafka."),
        ("stopped", (_row("kafka", "stopped"),), "Stopped."),
    ],
)
def test_the_sentence_names_what_is_in_the_way(state: status.State, rows: tuple[Row, ...], sentence: str) -> None:
    assert Status(pid=1, state=state, since=NOW, rows=rows).sentence() == sentence
