"""What follows from jobs goes to Kafka as they end; a batch is done once the broker has all that follows from it."""

import asyncio
from typing import cast

from faust.types import EventT

from agents.clock import Clock, wall_clock
from agents.sending.counting import Counting
from agents.sending.jobs import End, Job
from notify_streams.streaming import topics
from notify_streams.streaming.app import App
from notify_streams.streaming.deadletters import DeadLetters
from notify_streams.streaming.intake import Batch
from notify_streams.streaming.outgoing import Outgoing, Sent
from notify_streams.streaming.partitions import Partitions
from notify_streams.streaming.settle import leave
from schemas.codec import encode

GATHER_S, MOST = 0.01, 200


class Input:
    """A batch of an agent that is under way: `left` jobs of it have not been published yet."""

    def __init__(self, batch: object, left: int) -> None:
        self.batch, self.left = cast(Batch, batch), left
        self.batch.held = True

    def less(self, count: int) -> None:
        """So many more are published, and the broker has what was."""
        self.left -= count
        if self.left == 0:
            self.batch.done()


class Publishing:
    """One per lane. Whatever goes wrong here ends the process; the input comes again to the next one."""

    def __init__(self, app: App, dead: DeadLetters, partitions: Partitions, *, clock: Clock = wall_clock) -> None:
        self._app, self._dead, self._partitions, self._clock = app, dead, partitions, clock
        self._counting = Counting()
        self._outgoing: Outgoing | None = None
        self._inputs: list[Input] = []
        self._timer: asyncio.TimerHandle | None = None
        self._sending: set[asyncio.Task[None]] = set()

    def add(self, of: Input, job: Job, end: End) -> None:
        """A job is over."""
        try:
            self.put(job, end, self._open())
            self._counting.end(job, end)
        except Exception:  # noqa: BLE001  an outage or a bug: either way nothing of this may count as done
            leave("batch.unsettled")
        self._soon(of)

    def bury(self, of: Input, event: EventT[bytes], error: Exception) -> None:
        """A record that is no delivery."""
        try:
            self._dead.bury(event, error, self._open(), now=self._clock())
        except Exception:  # noqa: BLE001  too many of them, or a bug
            leave("batch.unsettled")
        self._soon(of)

    def put(self, job: Job, end: End, outgoing: Outgoing) -> None:
        """Queue the records of one job. What becomes of a producer's own webhook is no fact about the notification."""
        message, hook = job.event.message, job.delivery.hook
        if end.outcome is not None and not hook:
            outgoing.add(topics.OUTCOMES, message.partition, message.key, encode(end.outcome))
        if end.timer is not None:
            outgoing.add(topics.TIMERS, message.partition, message.key, encode(end.timer))
        if end.back is not None:
            name = topics.notifications(end.back.lane)
            outgoing.add(name, message.partition, message.key, encode(end.back))
        if end.word is not None:
            key = end.address_key.encode()
            outgoing.add(topics.ADDRESS_CHANGES, self._partitions.of(key), key, encode(end.word))
        if end.is_dead and end.outcome is not None:
            known = end.outcome
            reason = known.reason.value if known.reason is not None else known.state
            attempts = max(known.attempt, job.delivery.attempt - 1)
            self._dead.keep(job.event, reason, known.detail, outgoing, now=self._clock(), attempts=attempts)

    def _open(self) -> Outgoing:
        if self._outgoing is None:
            self._outgoing = Outgoing(self._app.raw_producer, self._app.topic_prefix)
        return self._outgoing

    def _soon(self, of: Input) -> None:
        self._inputs.append(of)
        if len(self._inputs) >= MOST:
            self._flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(GATHER_S, self._flush)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        outgoing, inputs = self._open(), self._inputs
        self._outgoing, self._inputs, self._timer = None, [], None
        try:
            sent = outgoing.send()
        except Exception:  # noqa: BLE001  an outage or a bug: either way nothing of this may count as done
            leave("batch.unsettled")
        task = asyncio.get_running_loop().create_task(self._finish(sent, inputs))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _finish(self, sent: Sent, inputs: list[Input]) -> None:
        try:
            await sent.acknowledged()
        except Exception:  # noqa: BLE001  the same
            leave("batch.unsettled")
        for of in inputs:
            of.less(1)
