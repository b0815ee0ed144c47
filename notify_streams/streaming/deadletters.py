"""Records that no agent can handle: kept as they came, with where they came from and why."""

from collections import deque
from typing import cast

from faust.types import EventT

from notify_streams import __version__
from notify_streams.metrics import DEAD_LETTERS
from notify_streams.streaming.outgoing import Headers, Outgoing, TooLarge
from schemas import deadletters as names

TOPIC = "dead-letters"
_KEPT_BYTES = 64 * 1024
_WINDOW, _SHARE = 1000, 0.05


class TooMany(RuntimeError):
    """So much cannot be processed that the fault must be ours: a bad deploy must not empty a topic into the grave."""


class DeadLetters:
    """The dead letters of one stage, and how many there may be before the worker stops."""

    def __init__(self, stage: str, max_run: int) -> None:
        self.stage = stage
        self._max_run = max_run
        self._runs: dict[tuple[str, int], int] = {}
        self._recent: dict[tuple[str, int], deque[bool]] = {}

    def handled(self, event: EventT[bytes]) -> None:
        """This record was processed."""
        self._note(event, dead=False)

    def bury(self, event: EventT[bytes], error: Exception, outgoing: Outgoing, *, now: int, attempts: int = 1) -> None:
        """Queue a record that our own code could not process. Raises TooMany when that happens too often."""
        self._note(event, dead=True)
        self.keep(event, type(error).__name__, str(error), outgoing, now=now, attempts=attempts)

    def keep(
        self, event: EventT[bytes], error_class: str, reason: str, outgoing: Outgoing, *, now: int, attempts: int = 1
    ) -> None:
        """Queue a record that is its sender's fault or has used up its attempts; any number of them is fine."""
        message = event.message
        place = (
            (names.ORIGINAL_TOPIC, message.topic),
            (names.ORIGINAL_PARTITION, str(message.partition)),
            (names.ORIGINAL_OFFSET, str(message.offset)),
            (names.ORIGINAL_TIMESTAMP, str(round(message.timestamp * 1000))),
            (names.ATTEMPTS, str(attempts)),
            (names.ERROR_CLASS, error_class),
            (names.ERROR, reason[:2000]),
            (names.STAGE, self.stage),
            (names.FAILED_AT, str(now)),
            (names.VERSION, __version__),
        )
        ours = {name for name, _ in place}  # a letter that was put back and dies again says where it was last
        came = cast("Headers", message.headers or ())
        original = [(name, text) for name, text in came if name not in ours]
        headers: Headers = [*original, *((name, text.encode(errors="replace")) for name, text in place)]
        try:
            outgoing.add(TOPIC, message.partition, message.key, message.value, headers)
        except TooLarge:
            value = message.value or b""
            cut = [*headers[len(original) :], ("notify-truncated", str(len(value)).encode())]
            outgoing.add(TOPIC, message.partition, message.key and message.key[:_KEPT_BYTES], value[:_KEPT_BYTES], cut)
        DEAD_LETTERS.labels(stage=self.stage).inc()

    def _note(self, event: EventT[bytes], *, dead: bool) -> None:
        place = event.message.topic, event.message.partition
        recent = self._recent.get(place)
        if recent is None:
            recent = self._recent[place] = deque(maxlen=_WINDOW)
        run = self._runs[place] = self._runs.get(place, 0) + 1 if dead else 0
        recent.append(dead)
        if dead and (run > self._max_run or (len(recent) == _WINDOW and sum(recent) > _WINDOW * _SHARE)):
            count = f"{run} in a row, {sum(recent)} of the last {len(recent)}"
            raise TooMany(f"{count} records of {place[0]}/{place[1]} could not be processed by {self.stage}")
