"""What another terminal may know of a running system: one file, written whole every second."""

from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from .files import write_whole
from .lock import owner

FILE = "status.json"

State = Literal["starting", "ready", "unready", "waiting", "stopping", "stopped"]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One engine or program. `cpu` is in percent of one core, `rss` in bytes, `rate` in records a second."""

    name: str
    kind: Literal["engine", "program"]
    state: State
    since: datetime
    pid: int | None = None
    restarts: int = 0
    rss: int = 0
    cpu: float = 0.0
    rate: float | None = None
    lag: float | None = None
    address: str = ""


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """The whole."""

    pid: int
    state: State
    since: datetime
    rows: tuple[Row, ...] = ()

    def sentence(self) -> str:
        """How it stands, in words."""
        slow = ", ".join(row.name for row in self.rows if row.state != "ready")
        running = ", ".join(row.name for row in self.rows if row.pid)
        match self.state:
            case "ready" if not slow:
                return f"Everything is ready: {_counted(self.rows, 'engine')}, {_counted(self.rows, 'program')}."
            case "ready":
                return f"Running, but not all is ready: {slow}."
            case "stopping" if running:
                return f"Stopping; these still run: {running}."
            case "starting" if slow:
                return f"Starting; not yet ready: {slow}."
            case _:
                return f"{self.state.capitalize()}."


def write(state: Path, status: Status) -> None:
    """For `read`."""
    write_whole(state / FILE, msgspec.json.encode(status).decode())


def read(state: Path) -> Status | None:
    """Of the system that runs there now; None if there is none, or if it has not written yet."""
    pid = owner(state)
    try:
        status = msgspec.json.decode((state / FILE).read_bytes(), type=Status)
    except FileNotFoundError:
        return None
    return status if status.pid == pid else None


def remove(state: Path) -> None:
    """What has stopped has no status."""
    (state / FILE).unlink(missing_ok=True)


def _counted(rows: tuple[Row, ...], kind: str) -> str:
    number = sum(row.kind == kind for row in rows)
    return f"{number} {kind}{'' if number == 1 else 's'}"
