import asyncio
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from notify_streams.local.child import Child
from tests.engines import is_gone

SLEEP = (sys.executable, "-c", "import time; print('here', flush=True); time.sleep(600)")
STUBBORN = (
    sys.executable,
    "-c",
    "import signal, time; signal.signal(15, signal.SIG_IGN); print('here', flush=True); time.sleep(600)",
)
PARENT = """
import asyncio, sys, time
from pathlib import Path
from notify_streams.local.child import Child
child = Child(sys.argv[2:], log=Path(sys.argv[1]))
asyncio.run(child.start())
print(child.pid, flush=True)
time.sleep(600)
"""


async def test_its_output_is_in_its_log(tmp_path: Path) -> None:
    child = Child([sys.executable, "-c", "print('words')"], log=tmp_path / "logs" / "one.log")
    await child.start()
    assert await child.wait(10)
    assert (child.exit_code, child.pid, child.tail()) == (0, None, "words")


async def test_one_that_ignores_sigterm_is_killed_after_its_grace(tmp_path: Path) -> None:
    child = Child(STUBBORN, log=tmp_path / "one.log")
    await _started(child)
    await child.stop(grace=0.2)
    assert child.exit_code == -signal.SIGKILL


async def test_one_that_is_paused_still_stops(tmp_path: Path) -> None:
    child = Child(SLEEP, log=tmp_path / "one.log")
    await _started(child)
    child.send(signal.SIGSTOP)
    await child.stop(grace=5)
    assert child.exit_code == -signal.SIGTERM


async def test_a_second_process_waits_until_the_first_lets_go(tmp_path: Path) -> None:
    held = tmp_path / "lock"
    first = Child(SLEEP, log=tmp_path / "first.log", held=held)
    await _started(first)
    second = Child(SLEEP, log=tmp_path / "second.log", held=held)
    starting = asyncio.create_task(second.start())
    await asyncio.sleep(0.2)
    assert not starting.done()
    await first.kill()
    await starting
    assert second.pid is not None
    await second.kill()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_child_outlives_its_parent(tmp_path: Path, number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path / "one.log"), *STUBBORN],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        parent.send_signal(number)
        parent.wait()
    until = time.monotonic() + 5
    while not is_gone(child):
        assert time.monotonic() < until
        time.sleep(0.01)


async def _started(child: Child) -> None:
    await child.start()
    until = time.monotonic() + 10
    while child.tail() != "here":
        assert time.monotonic() < until
        await asyncio.sleep(0.01)
