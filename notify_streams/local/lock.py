"""Who uses a state directory: one process at a time, named in the lock file."""

import fcntl
import os
import time
from pathlib import Path

_TRIES = 5
_PAUSE_S = 0.02


class InUse(RuntimeError):
    """Another process uses the state directory; `pid` says which."""

    def __init__(self, state: Path, pid: int) -> None:
        super().__init__(f"{state} is in use by process {pid}; stop it with `notify down`, or choose another directory")
        self.pid = pid


class StateLock:
    """Held from `take` until `release` or the end of the process, whichever way that ends."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._descriptor: int | None = None

    def take(self) -> None:
        """Raises InUse, at once."""
        self._state.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(_file(self._state), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if not _exclusive(descriptor):
            os.close(descriptor)
            raise InUse(self._state, _pid(self._state))
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        self._descriptor = descriptor

    def release(self) -> None:
        """The file stays: removing it would let two processes lock two files of one name."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def owner(state: Path) -> int | None:
    """The process that uses the directory now."""
    try:
        descriptor = os.open(_file(state), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _pid(state)
    finally:
        os.close(descriptor)
    return None


def _exclusive(descriptor: int) -> bool:
    for _ in range(_TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE_S)  # `owner` asks with a lock of its own, for a moment
        else:
            return True
    return False


def _file(state: Path) -> Path:
    return state / "lock"


def _pid(state: Path) -> int:
    for _ in range(_TRIES):
        if text := _file(state).read_text():
            return int(text)
        time.sleep(_PAUSE_S)  # locked, but not yet signed
    raise RuntimeError(f"{_file(state)} is locked by a process that did not write its id into it")
