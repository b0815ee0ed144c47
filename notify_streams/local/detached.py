"""A system that runs in the background: started, waited for, stopped from another terminal."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from . import status
from .child import tail
from .lock import owner
from .status import Status
from .system import UpError

LOG = "up.log"
_READY_S = 120.0
_DOWN_S = 90.0
_LOOK_S = 0.2


def start(state: Path, arguments: Sequence[str]) -> Status:
    """Run `notify up` in the background; return when all is ready. Raises UpError, and then nothing is left."""
    log = state / "logs" / LOG
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "notify_streams", "up", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    until = time.monotonic() + _READY_S
    while time.monotonic() < until:
        if process.poll() is not None:
            raise UpError(f"it ended with exit code {process.returncode}; its log {log} ends with:\n{tail(log)}")
        now = status.read(state)
        if now and now.pid == process.pid and now.state == "ready":
            return now
        time.sleep(_LOOK_S)
    reason = _why_not(state)
    stop(state)
    raise UpError(f"it was not ready after {_READY_S:.0f} s and was stopped. {reason}")


def stop(state: Path) -> int | None:
    """Ask it to stop and wait; the process that was stopped, None if there was none. Raises UpError."""
    pid = owner(state)
    if pid is None:
        return None
    os.kill(pid, signal.SIGTERM)
    until = time.monotonic() + _DOWN_S
    while owner(state) == pid:
        if time.monotonic() >= until:
            raise UpError(f"process {pid} still stops after {_DOWN_S:.0f} s; its log is {state / 'logs' / LOG}")
        time.sleep(_LOOK_S)
    return pid


def _why_not(state: Path) -> str:
    now = status.read(state)
    late = [row for row in now.rows if row.state != "ready"] if now else []
    if not late:
        return f"Its log {state / 'logs' / LOG} ends with:\n{tail(state / 'logs' / LOG)}"
    log = state / "logs" / f"{late[0].name}.log"
    return f"Not ready: {', '.join(row.name for row in late)}. {log} ends with:\n{tail(log)}"
