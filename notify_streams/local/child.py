"""One child process: how it is started on a leash, signalled, and ended within a grace."""

import asyncio
import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

_LEASH = (sys.executable, "-I", "-S", str(Path(__file__).with_name("leash.py")))
_POLL_S = 0.02
_LONGEST_POLL_S = 0.25
_LOG_BYTES = 16 * 1024 * 1024


class Child:
    """A process that ends with this one, even by SIGKILL; its output is appended to `log`.

    It may be waited for from any event loop, but it lives no longer than the thread that started it.
    `held` names a file that the process keeps locked as long as it lives: a second start waits for it.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        held: Path | None = None,
    ) -> None:
        self.argv = tuple(argv)
        self.log = log
        self._env = {**os.environ, **(env or {})}
        self._cwd = cwd
        self._held = held
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        return self._process.pid if self._process and self._process.poll() is None else None

    @property
    def exit_code(self) -> int | None:
        """How it ended (negative: by that signal); None before the start and while it runs."""
        return self._process.poll() if self._process else None

    async def start(self) -> None:
        """Raises TimeoutError when an earlier process still holds the lock after 10 s."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        _rotate(self.log)
        lock = await _locked(self._held) if self._held else None
        try:
            with self.log.open("ab") as out:
                self._process = subprocess.Popen(  # noqa: ASYNC220 - one fork; asyncio's own is bound to one loop
                    [*_LEASH, str(os.getpid()), *self.argv],
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    env=self._env,
                    cwd=self._cwd,
                    start_new_session=True,  # Ctrl-C reaches the parent alone, which then stops things in order
                    pass_fds=() if lock is None else (lock,),
                )
        finally:
            if lock is not None:
                os.close(lock)

    async def wait(self, timeout: float) -> bool:
        """True as soon as it has ended, False if it still runs after `timeout` seconds."""
        until = time.monotonic() + timeout
        pause = _POLL_S
        while self.pid is not None:
            if time.monotonic() >= until:
                return False
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_POLL_S)
        return True

    async def stop(self, grace: float) -> None:
        """SIGTERM, and SIGKILL when `grace` seconds did not suffice."""
        self.send(signal.SIGTERM)
        self.send(signal.SIGCONT)
        if not await self.wait(grace):
            await self.kill()

    async def kill(self) -> None:
        """SIGKILL; returns when it is gone."""
        self.send(signal.SIGKILL)
        while not await self.wait(1.0):
            pass

    def send(self, number: signal.Signals) -> None:
        """Send a signal; nothing happens if it does not run."""
        if self._process is not None:
            self._process.send_signal(number)

    def tail(self, lines: int = 15) -> str:
        """The end of its log."""
        return tail(self.log, lines)


def tail(log: Path, lines: int = 15) -> str:
    """The last lines of a log; empty if there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 16384))
            return "\n".join(file.read().decode(errors="replace").splitlines()[-lines:])
    except FileNotFoundError:
        return ""


def _rotate(log: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        if log.stat().st_size > _LOG_BYTES:
            log.replace(log.with_suffix(".log.1"))


async def _locked(path: Path) -> int:
    """An open file with the lock on it, for the child to inherit."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    until = time.monotonic() + 10
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                os.close(descriptor)
                raise TimeoutError(f"another process still holds {path}") from None
            await asyncio.sleep(_POLL_S)
        else:
            return descriptor
