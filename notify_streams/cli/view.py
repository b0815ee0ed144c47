"""How a running system looks on a terminal: a sentence, a table, the last things that mattered."""

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

import rich.live
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from notify_streams.local.status import Row, Status

_STYLES = {"ready": "green", "starting": "default", "stopping": "default", "stopped": "dim", "unready": "yellow"}
_LINES = 8
_WIDE = 100


def show(status: Status) -> None:
    """Once."""
    console = Console()
    console.print(_picture(status, console.width))


def say_plainly(line: str) -> None:
    """With the time, for a log."""
    sys.stdout.write(f"{_clock()} {line}\n")
    sys.stdout.flush()


class Transitions:
    """Without a terminal the picture is one line, whenever the state of the whole changes."""

    def __init__(self) -> None:
        self._last = ""

    def draw(self, status: Status) -> None:
        """Says what is new."""
        if status.state != self._last:
            self._last = status.state
            say_plainly(status.sentence())


class Live:
    """One picture that is drawn over; `below` comes after the table, and then what was said lately."""

    def __init__(self, below: Callable[[], RenderableType] | None = None) -> None:
        self._below = below
        self._lines: deque[str] = deque(maxlen=_LINES)
        self._status: Status | None = None
        self._live = rich.live.Live(auto_refresh=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def say(self, line: str) -> None:
        """A thing that matters."""
        self._lines.append(f"{_clock()} {line}")
        if self._status:
            self.draw(self._status)

    def draw(self, status: Status) -> None:
        """The newest figures."""
        self._status = status
        more = [self._below()] if self._below else []
        self._live.update(Group(_picture(status, self._live.console.width), *more, *_dimmed(self._lines)), refresh=True)


def _picture(status: Status, width: int) -> RenderableType:
    return Group(Text(status.sentence(), style="bold"), _table(status, wide=width >= _WIDE))


def _dimmed(lines: Iterable[str]) -> Iterable[Text]:
    return (Text(line, style="dim") for line in lines)


def _table(status: Status, *, wide: bool) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False)
    names = ("", "state", "for", "pid", "restarts", "cpu", "memory", "rec/s", "lag", "address")
    for number, name in enumerate(names if wide else names[:-1]):
        table.add_column(name, justify="right" if 2 <= number < len(names) - 1 else "left", no_wrap=True)
    for row in status.rows:
        table.add_row(*_cells(row)[: len(table.columns)], end_section=row is _last_engine(status))
    table.add_row("all", "", "", "", "", f"{sum(r.cpu for r in status.rows):.1f} %", _mebibytes(status.rows))
    return table


def _cells(row: Row) -> tuple[RenderableType, ...]:
    return (
        row.name,
        Text(row.state, style=_STYLES.get(row.state, "red")),
        _span(row.since),
        str(row.pid or ""),
        str(row.restarts or ""),
        f"{row.cpu:.1f} %" if row.pid else "",
        _mebibytes([row]) if row.pid else "",
        "" if row.rate is None else f"{row.rate:,.0f}",
        "" if row.lag is None else f"{row.lag:,.0f}",
        row.address,
    )


def _last_engine(status: Status) -> Row | None:
    return next((row for row in reversed(status.rows) if row.kind == "engine"), None)


def _mebibytes(rows: Iterable[Row]) -> str:
    return f"{sum(row.rss for row in rows) / 2**20:,.0f} MiB"


def _span(since: datetime) -> str:
    seconds = int((datetime.now(UTC) - since).total_seconds())
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min"
    return f"{seconds // 3600} h {seconds % 3600 // 60} min"


def _clock() -> str:
    return time.strftime("%H:%M:%S")
