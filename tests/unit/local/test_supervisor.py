import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from notify_streams.local.free_ports import HOST, free_port
from notify_streams.local.programs import Program
from notify_streams.local.status import Row
from notify_streams.local.supervisor import Supervisor
from notify_streams.local.usage import Usage

SERVER = """
import http.server, sys
class Ready(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        if self.path == "/metrics":
            self.wfile.write(b'notify_consumer_lag{topic="x"} 5\\n')
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Ready).serve_forever()
"""


def _server(name: str, tier: int = 1) -> Program:
    port = free_port()
    return Program(name, (sys.executable, "-c", SERVER, str(port)), {}, f"http://{HOST}:{port}/readyz", tier)


def _dying(code: int) -> Program:
    return Program("dying", (sys.executable, "-c", f"raise SystemExit({code})"), {}, f"http://{HOST}:{free_port()}/")


async def _until(supervisor: Supervisor, fits: Callable[[list[Row]], bool]) -> list[Row]:
    until = time.monotonic() + 20
    while not fits(rows := supervisor.rows(Usage())):
        assert time.monotonic() < until, rows
        await asyncio.sleep(0.05)
    return rows


async def test_a_killed_program_comes_back_and_is_ready_again(tmp_path: Path) -> None:
    said: list[str] = []
    async with Supervisor([_server("one")], logs=tmp_path, say=said.append) as supervisor:
        (row,) = await _until(supervisor, lambda rows: rows[0].state == "ready" and rows[0].lag == 5)
        assert row.pid is not None
        os.kill(row.pid, signal.SIGKILL)
        await _until(supervisor, lambda rows: rows[0].restarts == 1 and rows[0].state == "ready")
    assert any("one ended with signal 9; starting it again in 0.5 s" in line for line in said)


async def test_a_temporary_failure_is_restarted_at_once(tmp_path: Path) -> None:
    said: list[str] = []
    async with Supervisor([_dying(75)], logs=tmp_path, say=said.append) as supervisor:
        await _until(supervisor, lambda rows: rows[0].restarts == 1)
    assert "exit code 75; starting it again at once" in said[0]


async def test_a_program_that_does_not_exist_is_named(tmp_path: Path) -> None:
    program = Program("ghost", ("no-such-program",), {}, f"http://{HOST}:1/readyz")
    async with Supervisor([program], logs=tmp_path, say=lambda _: None) as supervisor:
        await _until(supervisor, lambda rows: rows[0].state == "waiting")
    assert "no-such-program" in (tmp_path / "ghost.log").read_text()


async def test_all_stop_the_later_tiers_first_and_none_is_left(tmp_path: Path) -> None:
    programs = [_server("early", tier=0), _server("late", tier=2)]
    async with Supervisor(programs, logs=tmp_path, say=lambda _: None) as supervisor:
        rows = await _until(supervisor, lambda rows: all(row.state == "ready" for row in rows))
        assert supervisor.not_ready() == []
    early, late = supervisor.rows(Usage())
    assert late.since <= early.since
    assert (early.state, late.state) == ("stopped", "stopped")
    assert not any(psutil.pid_exists(row.pid or 0) for row in rows)
