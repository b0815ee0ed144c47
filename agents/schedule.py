"""Timer operations in; their payloads out when they are due."""

import asyncio
from collections.abc import Iterable, Sequence

from faust.types import EventT, StreamT

from agents.clock import Clock, wall_clock
from notify_streams.metrics import STAGE_RECORDS, TIMER_LATENESS, TIMERS_OVERDUE, TIMERS_PENDING
from notify_streams.streaming import topics
from notify_streams.streaming.app import App, topic
from notify_streams.streaming.batches import batches
from notify_streams.streaming.deadletters import DeadLetters
from notify_streams.streaming.keyed import keyed
from notify_streams.streaming.outgoing import Outgoing
from notify_streams.streaming.settle import Pipeline, settled
from schemas.timers import CancelTimerV1, MoveTimerV1, PutTimerV1, decode_operation
from tables.by_event import StoreFailed
from tables.timers import Due, Timers

BATCH, GATHER_S = 500, 0.01
TICK_S = 0.2
ROUND, PER_TICK = 1000, 10_000  # a round is one synchronous block: operations wait no longer than that
ABREAST = 2  # one round is made up while the other is on its way
ROLE = "scheduler"
DUE_HEADER = "notify-due-at"


class Scheduler:
    """The one writer of timers."""

    def __init__(
        self, app: App, timers: Timers, dead: DeadLetters, *, targets: Iterable[str], clock: Clock = wall_clock
    ) -> None:
        self.app, self.timers, self.dead, self.clock = app, timers, dead, clock
        self.targets = frozenset(targets)
        self._generation = -1
        self._ticked_at: int | None = None
        self._released_at: int | None = None

    def take(self, event: EventT[bytes], outgoing: Outgoing) -> None:
        """Carry out one operation; no await."""
        partition, user, value = keyed(event)
        operation = decode_operation(value)
        match operation:
            case PutTimerV1():
                if operation.target not in self.targets:
                    raise ValueError(f"$.target: there is no topic {operation.target!r} to return to")
                if self.timers.put(partition, user, operation, outgoing):
                    TIMERS_PENDING.inc()
            case MoveTimerV1():
                self.timers.move(partition, user, operation, outgoing)
            case CancelTimerV1():
                if self.timers.cancel(partition, user, operation, outgoing):
                    TIMERS_PENDING.dec()

    async def release(self) -> int:
        """Release what is due on all owned partitions, at most PER_TICK: what stood still for long comes in portions.

        A round is sent, and forgotten only once the broker has it: a crash between repeats, it never loses. Between
        two rounds operations get their turn. How many it was.
        """
        self._released_at, partitions = self.clock(), self.owned()
        try:
            return sum(await asyncio.gather(*(self._rounds(partitions, PER_TICK // ABREAST) for _ in range(ABREAST))))
        except BaseException:  # cancelled on the way: it is due again
            self.timers.forget_cursors()
            raise

    async def _rounds(self, partitions: Sequence[int], most: int) -> int:
        count, taken = 0, list[Due]()
        while True:
            async with settled(self.app, self.timers) as outgoing:
                TIMERS_PENDING.dec(self.timers.released(taken, outgoing))
                room = most - count if self.is_settled() else 0
                taken = self.send(partitions, min(ROUND, room), outgoing)
            if not taken:
                return count
            count += len(taken)
            self._observe(taken)

    def send(self, partitions: Sequence[int], limit: int, outgoing: Outgoing) -> list[Due]:
        """Queue at most `limit` payloads that are due, each with its due time as a header; no await."""
        taken = self.timers.take(partitions, self.clock(), limit)
        for due in taken:
            header = (DUE_HEADER, b"%d" % due.at)
            outgoing.add(due.entry.target, due.partition, due.entry.user, due.entry.payload, [header])
        return taken

    def is_wanted(self, sent_at: float) -> bool:
        """Whether a tick of this instant (ms) is to release anything: not if a release has begun since.

        By that and not by its age: a worker that is so busy that all its ticks are late must still release.
        """
        last = self._released_at
        return last is None or sent_at > last or last > self.clock()  # the clock was set back

    def owned(self) -> list[int]:
        """The partitions whose timers are this process's."""
        name = self.app.topic_prefix + topics.TICKS
        return sorted(tp.partition for tp in self.app.consumer.assignment() if tp.topic == name)

    def is_settled(self) -> bool:
        """Whether the tables of all owned partitions are there and stay; what was known before a rebalance is not."""
        if self.app.rebalancing or not self.app.tables.actives_ready:
            return False
        if self.app.consumer_generation_id != self._generation:  # a rebalance can be over between two ticks
            self._generation = self.app.consumer_generation_id
            self.timers.forget_cursors()
            TIMERS_PENDING.set(sum(self.timers.about(partition) for partition in self.owned()))
        return True

    async def tick(self) -> None:
        """Wake the release agent when something is due.

        It alone may write the table, as it has an event in hand: until that is done no rebalance goes on, and so all
        partitions are this process's. One tick is enough for them all.
        """
        if not self.is_settled():
            return
        now = self.clock()
        waiting = {p: since for p in self.owned() if (since := self.timers.due_since(p, now)) is not None}
        TIMERS_OVERDUE.set((now - min(waiting.values())) / 1000 if waiting else 0)
        if not waiting or (self._ticked_at is not None and 0 <= now - self._ticked_at < TICK_S * 500):
            return  # below 0: the clock was set back
        self._ticked_at = now
        partition = next(iter(waiting))
        await self.app.raw_producer.send_and_wait(
            self.app.topic_prefix + topics.TICKS, value=b"tick", partition=partition
        )

    def _observe(self, taken: list[Due]) -> None:
        now = self.clock()
        for due in taken:
            TIMER_LATENESS.observe((now - due.at) / 1000)


def register(scheduler: Scheduler) -> None:
    """The scheduler's two agents and its clock."""
    app, dead, clock = scheduler.app, scheduler.dead, scheduler.clock
    records = STAGE_RECORDS.labels(role=ROLE, lane="operations")
    pipeline = Pipeline(app, scheduler.timers)

    @app.agent(topic(app, topics.TIMERS), name=f"{ROLE}.operations")
    async def operations(stream: StreamT[bytes]) -> None:
        async for events in batches(stream, BATCH, GATHER_S):
            async with pipeline.settled(events) as outgoing:
                for event in events:
                    try:
                        scheduler.take(event, outgoing)
                        dead.handled(event)
                    except StoreFailed:
                        raise
                    except Exception as error:  # noqa: BLE001  the fault is in the record, or in our code for it
                        dead.bury(event, error, outgoing, now=clock())
            records.inc(len(events))

    @app.agent(topic(app, topics.TICKS), name=f"{ROLE}.release")
    async def release(stream: StreamT[bytes]) -> None:
        async for events in batches(stream, BATCH):
            if scheduler.is_wanted(max(event.message.timestamp for event in events) * 1000):
                await scheduler.release()

    async def tick() -> None:
        try:
            await scheduler.tick()
        except Exception as error:  # noqa: BLE001  an exception here would end the app; the next tick tries again
            app.log.warning("tick.failed %r", error)

    app.timer(TICK_S, name=f"{ROLE}.tick")(tick)
