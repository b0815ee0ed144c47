"""Timer operations in; their payloads out when they are due."""

from collections.abc import Iterable

from faust.types import EventT, StreamT

from agents.clock import Clock, wall_clock
from notify_streams.metrics import STAGE_RECORDS, TIMER_LATENESS, TIMERS_PENDING
from notify_streams.streaming import topics
from notify_streams.streaming.app import App, topic
from notify_streams.streaming.batches import batches
from notify_streams.streaming.deadletters import DeadLetters
from notify_streams.streaming.keyed import keyed
from notify_streams.streaming.outgoing import Outgoing
from notify_streams.streaming.settle import settled
from schemas.timers import CancelTimerV1, MoveTimerV1, PutTimerV1, decode_operation
from tables.by_event import StoreFailed
from tables.timers import Timers, due_of

BATCH, SLICE, SLICES_PER_TICK, TICK_S = 500, 500, 20, 0.25
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
        self.ticks_sent: dict[int, int] = {}
        self.released_at: dict[int, int] = {}

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

    async def release(self, partition: int) -> int:
        """Send one slice of what is due, and only then forget it: a crash between repeats, it never loses."""
        self.released_at[partition] = self.clock()
        try:
            async with settled(self.app, self.timers) as outgoing:
                entries = self.timers.due(partition, self.clock(), SLICE)
                for key, entry in entries:
                    header = (DUE_HEADER, str(due_of(key)).encode())
                    outgoing.add(entry.target, partition, entry.user, entry.payload, [header])
            async with settled(self.app, self.timers) as outgoing:
                self.timers.released(partition, entries, outgoing)
        except BaseException:  # cancelled on the way: it is due again
            self.timers.forget_cursors()
            raise
        now = self.clock()
        for key, _ in entries:
            TIMER_LATENESS.observe((now - due_of(key)) / 1000)
        TIMERS_PENDING.dec(len(entries))
        return len(entries)

    def is_wanted(self, partition: int, sent_at: float) -> bool:
        """Whether a tick of this instant (ms) is to release anything: not if a release has begun since.

        By that and not by its age: a worker that is so busy that all its ticks are late must still release.
        """
        last = self.released_at.get(partition)
        return last is None or sent_at > last or last > self.clock()  # the clock was set back

    async def tick(self) -> None:
        """Wake the release agent of each owned partition that has something due; it alone may write the table."""
        app, now = self.app, self.clock()
        if app.consumer_generation_id != self._generation:  # a rebalance can be over between two ticks
            self._generation = app.consumer_generation_id
            self.timers.forget_cursors()
        if app.rebalancing or not app.tables.actives_ready:
            self.timers.forget_cursors()
            return
        for tp in app.consumer.assignment():
            if tp.topic != app.topic_prefix + topics.TICKS or not self.timers.is_due(tp.partition, now):
                continue
            if not 0 <= now - self.ticks_sent.get(tp.partition, 0) < TICK_S * 1000:  # below 0: it was set back
                self.ticks_sent[tp.partition] = now
                await app.raw_producer.send_and_wait(tp.topic, value=b"tick", partition=tp.partition)


def register(scheduler: Scheduler) -> None:
    """The scheduler's two agents and its clock."""
    app, dead, clock = scheduler.app, scheduler.dead, scheduler.clock
    records = STAGE_RECORDS.labels(role=ROLE, lane="operations")

    @app.agent(topic(app, topics.TIMERS), name=f"{ROLE}.operations")
    async def operations(stream: StreamT[bytes]) -> None:
        async for events in batches(stream, BATCH):
            async with settled(app, scheduler.timers) as outgoing:
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
            newest = {e.message.partition: e.message.timestamp * 1000 for e in events}
            for partition, sent_at in newest.items():
                slices = SLICES_PER_TICK if scheduler.is_wanted(partition, sent_at) else 0
                for _ in range(slices):
                    if await scheduler.release(partition) < SLICE:
                        break

    async def tick() -> None:
        try:
            await scheduler.tick()
        except Exception as error:  # noqa: BLE001  an exception here would end the app; the next tick tries again
            app.log.warning("tick.failed %r", error)

    app.timer(TICK_S, name=f"{ROLE}.tick")(tick)
