"""How far a run has got: figures with their rates, for whoever draws them."""

import time
from collections import deque

_WINDOW_S = 3.0


class Figure:
    """Something that grows; `of` is where it is to end, None where nobody knows."""

    def __init__(self, name: str, source: str) -> None:
        self.name, self.source = name, source
        self.value = 0
        self.of: int | None = None
        self._seen: deque[tuple[float, int]] = deque([(0.0, 0)])

    def add(self) -> None:
        """One more."""
        self.set(self.value + 1)

    def set(self, value: int) -> None:
        """The newest count."""
        self.value = value

    def rate(self, now: float | None = None) -> float:
        """A second, over the last three."""
        at = time.monotonic() if now is None else now
        self._seen.append((at, self.value))
        while len(self._seen) > 2 and self._seen[1][0] <= at - _WINDOW_S:
            self._seen.popleft()
        (then, before), span = self._seen[0], at - self._seen[0][0]
        return (self.value - before) / span if then and span > 0 else 0.0


class Progress:
    """One run. `stage` says what happens now, `waiting_for` what is still to come."""

    def __init__(self) -> None:
        self.stage = "Starting the system"
        self.waiting_for = ""
        self.people = Figure("people", "answers of the gateway")
        self.published = Figure("published", "acknowledged by the broker, answered by the gateway")
        self.accepted = Figure("accepted", "ingest, repeats included")
        self.decided = Figure("decided", "orchestrator, repeats and timers included")
        self.mails = Figure("mails", "the simulator's log")
        self.others = Figure("pushes, texts, webhooks", "the simulator's log")
        self.inbox = Figure("inbox items", "inbox")
        self.settled = Figure("settled", "folded from the facts in Cassandra")

    @property
    def begun(self) -> bool:
        """Whether the system is up and the run goes on."""
        return self.people.of is not None

    @property
    def figures(self) -> tuple[Figure, ...]:
        """In the order of the pipeline."""
        return (
            self.people,
            self.published,
            self.accepted,
            self.decided,
            self.mails,
            self.others,
            self.inbox,
            self.settled,
        )

    def sentence(self) -> str:
        """For a plain line."""
        counted = ", ".join(f"{f.value:,} {f.name}" for f in self.figures if f.value)
        return f"{self.stage}{': ' if counted else ''}{counted}."
