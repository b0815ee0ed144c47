"""The demo as people run it: from nothing to an account in which everything adds up, and nothing left running."""

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from notify_streams.local import lock

REPOSITORY = Path(__file__).parents[2]


def play(state: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "NOTIFY_LOCAL__STATE": str(state)}
    return subprocess.run(
        [sys.executable, "-m", "notify_streams", "demo", "--once"],
        cwd=REPOSITORY,
        env=env,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def left_running(state: Path) -> list[str]:
    """Processes that have anything to do with the directory."""
    time.sleep(0.5)
    return [
        " ".join(process.info["cmdline"] or ())
        for process in psutil.process_iter(["cmdline", "environ"])
        if str(state) in " ".join(process.info["cmdline"] or ())
        or (process.info["environ"] or {}).get("NOTIFY_LOCAL__STATE") == str(state)
    ]


@pytest.mark.e2e
@pytest.mark.timeout(240)
def test_an_hour_is_played_adds_up_and_leaves_nothing_running(tmp_path: Path) -> None:
    played = play(tmp_path / "state")
    assert played.returncode == 0, played.stdout + played.stderr
    assert "Everything adds up. First mail after" in played.stdout.splitlines()[-1]
    assert "differs" not in played.stdout
    assert lock.owner(tmp_path / "state") is None
    assert left_running(tmp_path / "state") == []
