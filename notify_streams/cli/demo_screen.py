"""What `notify demo` puts on the screen: one live picture while it runs, then the account; or plain lines."""

import sys
import time
from typing import Protocol

from rich.console import Console
from rich.text import Text

from notify_streams.local.demo import report
from notify_streams.local.demo.play import Means
from notify_streams.local.demo.progress import Progress
from notify_streams.local.demo.view import picture
from notify_streams.local.status import Status

from . import view

_PLAIN_WIDTH = 160
_EVERY_S = 5.0


class Picture(Protocol):
    """How the time until the account is shown."""

    def say(self, line: str) -> None:
        """A thing that matters."""

    def draw(self, status: Status) -> None:
        """The newest figures."""

    def close(self) -> None:
        """No more of it."""


class _OnTerminal:
    def __init__(self, progress: Progress) -> None:
        self._live = view.Live(lambda: picture(progress))
        self._live.__enter__()

    def say(self, line: str) -> None:
        self._live.say(line)

    def draw(self, status: Status) -> None:
        self._live.draw(status)

    def close(self) -> None:
        self._live.__exit__(None, None, None)


class _InLines:
    """A line when the stage changes, and every few seconds."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._transitions = view.Transitions()
        self._stage, self._next = progress.stage, 0.0

    def say(self, line: str) -> None:
        view.say_plainly(line)

    def draw(self, status: Status) -> None:
        self._transitions.draw(status)
        now, stage = time.monotonic(), self._progress.stage
        if self._progress.begun and (stage != self._stage or now >= self._next):
            self._stage, self._next = stage, now + _EVERY_S
            view.say_plainly(self._progress.sentence())

    def close(self) -> None:
        pass


class _Quiet:
    """After the account: only what goes wrong is said."""

    def say(self, line: str) -> None:
        view.say_plainly(line)

    def draw(self, status: Status) -> None:
        pass

    def close(self) -> None:
        pass


class Screen:
    """`began` is when the command was given, seconds since the epoch."""

    def __init__(self, console: Console, began: float) -> None:
        self.progress = Progress()
        self.added_up = False
        self._console, self._began = console, began
        self._picture: Picture = _OnTerminal(self.progress) if console.is_terminal else _InLines(self.progress)
        self._verdict: Text | None = None

    def say(self, line: str) -> None:
        """A thing that matters."""
        self._picture.say(line)

    def draw(self, status: Status) -> None:
        """The newest figures."""
        self._picture.draw(status)

    def close(self) -> None:
        """Before anything else is printed."""
        self._picture.close()
        self._picture = _Quiet()

    def show(self, shown: report.Shown, staying: Means | None) -> None:
        """The account and the examples; and where to look further if the system stays."""
        self.close()
        self.added_up = shown.played.adds_up
        self._console.print(report.whole(shown))
        self._verdict = report.verdict(shown.played, self._began)
        if staying is not None:
            self._console.print(report.further(shown, staying))
            self.verdict()
            self._console.print("The system stays up; Ctrl-C stops it.")

    def verdict(self) -> None:
        """One sentence for all, once."""
        if self._verdict is not None:
            self._console.print(self._verdict)
            self._verdict = None


def screen(began: float) -> Screen:
    """For standard output."""
    console = Console() if sys.stdout.isatty() else Console(width=_PLAIN_WIDTH)
    return Screen(console, began)
