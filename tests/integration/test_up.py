import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil

from notify_streams import settings
from tests.engines import JARS, is_gone

NOTIFY = (sys.executable, "-m", "notify_streams")


def _environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "NOTIFY_LOCAL__ENGINES": str(JARS)} | {"NOTIFY_LOCAL__STATE": str(folder / ".local")}


def _notify(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*NOTIFY, *words], cwd=folder, env=_environment(folder), capture_output=True, text=True)


def _status(folder: Path) -> dict[str, Any]:
    found = _notify(folder, "status", "--json")
    assert found.returncode == 0, found.stderr
    status: dict[str, Any] = json.loads(found.stdout)
    return status


def test_engines_in_the_background_are_shown_revived_and_stopped(tmp_path: Path) -> None:
    started = _notify(tmp_path, "up", "--only", "engines", "--detach")
    assert started.returncode == 0, started.stderr
    try:
        status = _status(tmp_path)
        assert {row["name"]: row["state"] for row in status["rows"]} == dict.fromkeys(
            ("kafka", "cassandra", "redis"), "ready"
        )
        assert settings.load({}, cwd=tmp_path).redis.url == f"redis://{_row(status, 'redis')['address']}/0"
        refused = _notify(tmp_path, "up")
        assert (refused.returncode, str(status["pid"]) in refused.stderr) == (1, True)
        _comes_back(tmp_path, _row(status, "redis"))
    finally:
        stopped = _notify(tmp_path, "down")
    assert stopped.returncode == 0, stopped.stderr
    assert not any(psutil.pid_exists(row["pid"]) for row in status["rows"])
    assert not (tmp_path / ".local" / "addresses.toml").exists()
    assert _notify(tmp_path, "status").returncode == 1
    assert _notify(tmp_path, "down").stdout.startswith("Nothing runs in")


def test_ctrl_c_while_it_starts_leaves_nothing(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*NOTIFY, "up", "--only", "engines"],
        cwd=tmp_path,
        env=_environment(tmp_path),
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert b"Starting" in process.stdout.readline()
        time.sleep(1)
        children = psutil.Process(process.pid).children()
        assert children
        os.killpg(process.pid, signal.SIGINT)
        process.stdout.read()
    assert process.returncode == 0
    assert all(is_gone(child) for child in children)


def test_a_wrong_option_is_a_usage_error(tmp_path: Path) -> None:
    assert _notify(tmp_path, "up", "--only", "nothing").returncode == 2


def _row(status: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(row for row in status["rows"] if row["name"] == name)
    return found


def _comes_back(folder: Path, row: dict[str, Any]) -> None:
    os.kill(row["pid"], signal.SIGKILL)
    until = time.monotonic() + 20
    while (now := _row(_status(folder), row["name"]))["restarts"] != 1 or now["state"] != "ready":
        assert time.monotonic() < until, now
        time.sleep(0.2)
    assert now["address"] == row["address"]
