import os
import subprocess
import sys
from pathlib import Path

import pytest

from notify_streams.local.lock import InUse, StateLock, owner

HOLD = """
import sys
from pathlib import Path
from notify_streams.local.lock import StateLock
StateLock(Path(sys.argv[1])).take()
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_taker_is_told_who_holds_it(tmp_path: Path) -> None:
    lock = StateLock(tmp_path)
    lock.take()
    with pytest.raises(InUse, match=f"in use by process {os.getpid()}") as refused:
        StateLock(tmp_path).take()
    assert refused.value.pid == owner(tmp_path) == os.getpid()
    lock.release()
    assert owner(tmp_path) is None
    StateLock(tmp_path).take()


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert owner(tmp_path) == holder.pid
        holder.kill()
        holder.wait()
    assert owner(tmp_path) is None
