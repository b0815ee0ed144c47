"""The demo as people run it: from nothing to an account in which everything adds up, and nothing left running."""

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from notify_streams.local import lock

# A bounce, a dead device, a number that is none, a complaint or bounce that keeps its address from more.
TROUBLE = (
    "email: the provider had taken it, and it came back",
    "push: the provider says that the address does not exist",
    "sms: the provider says that the address does not exist",
    "every address of the user for this channel is on the suppression list",
)
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


def providers(account: str) -> dict[str, tuple[int, int, int]]:
    """Of each provider its calls by the facts, by its own log, and its receipts."""
    rows = account.partition("\nProviders:")[2].partition("\n\n")[0].splitlines()[2:]
    cells = [row.replace(",", "").split() for row in rows]
    return {name: (int(calls), int(met), int(receipts)) for _, name, calls, met, *_, receipts, _, _ in cells}


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
    carried = providers(played.stdout)
    assert carried.keys() == {"ses", "sendgrid", "smtp", "fcm", "apns", "webpush", "twilio", "webhook"}
    assert all(calls == met > 0 for calls, met, _ in carried.values()), "each call is in the simulator's log"
    assert {name for name, (_, _, receipts) in carried.items() if receipts} == {"ses", "sendgrid", "twilio"}
    for trouble in TROUBLE:
        assert trouble in played.stdout
    assert lock.owner(tmp_path / "state") is None
    assert left_running(tmp_path / "state") == []
