"""In-app deliveries and inbox commands in; inbox items, live frames, outcomes and answers out."""

from collections.abc import Callable, Sequence

import msgspec
from faust.types import AgentT, EventT, StreamT

from agents.clock import Clock
from agents.inboxes.commands import Commands
from agents.inboxes.items import ROLE, Inbox
from agents.inboxes.writes import Showing, Writes
from notify_streams.domain.inbox_commands import SLOTS
from notify_streams.metrics import DELIVERIES, END_TO_END, QUEUE_AGE, STAGE_RECORDS, STAGE_SECONDS
from notify_streams.streaming import topics
from notify_streams.streaming.app import topic
from notify_streams.streaming.batches import batches
from notify_streams.streaming.deadletters import DeadLetters
from notify_streams.streaming.keyed import NoUser
from notify_streams.streaming.lanes import GATHER_S
from notify_streams.streaming.outgoing import Outgoing
from notify_streams.streaming.settle import settled
from schemas.words import Lane
from tables.by_event import StoreFailed

__all__ = ["Commands", "Inbox", "Writes", "register", "register_commands"]
Take = Callable[[EventT[bytes], Writes, Outgoing], None]
BATCH: dict[Lane, int] = {"high": 1000, "normal": 1000, "low": 400}  # HIGH waits for what LOW is at


def count(writes: Writes, clock: Clock) -> None:
    """Metrics of one batch."""
    now = clock()
    DELIVERIES.labels(channel="inapp", state="sent").inc(len(writes.new))
    for outcome in writes.ended:
        DELIVERIES.labels(channel="inapp", state=outcome.state).inc()
    for delivery in writes.new:
        deferred = "no" if delivery.due_at is None else "yes"
        seconds = max(0, now - (delivery.due_at or delivery.accepted_at)) / 1000
        END_TO_END.labels(channel="inapp", lane=delivery.lane, deferred=deferred).observe(seconds)


def register(inbox: Inbox, *, lane: Lane) -> AgentT[bytes]:
    """The agent of one lane. Order: state and changelog, then Cassandra, then Redis; each may be repeated."""
    app, age = inbox.app, QUEUE_AGE.labels(role=ROLE, lane=lane)
    work = _Work(inbox, inbox.take, inbox.dead, lane)

    @app.agent(topic(app, topics.deliveries("inapp", lane)), name=f"{ROLE}.{lane}")
    async def deliver(stream: StreamT[bytes]) -> None:
        async for events in batches(stream, BATCH[lane], GATHER_S[lane]):
            count(await work.do(events), inbox.clock)
            age.set(inbox.clock() / 1000 - events[0].message.timestamp)

    return deliver


def register_commands(commands: Commands) -> AgentT[bytes]:
    """The agent on `inbox-commands`: who has the answer lists the new state."""
    app = commands.inbox.app
    work = _Work(commands.inbox, commands.take, commands.dead, "commands", (NoUser, msgspec.DecodeError))

    @app.agent(topic(app, topics.INBOX_COMMANDS), name=f"{ROLE}.commands")
    async def command(stream: StreamT[bytes]) -> None:
        async for events in batches(stream, SLOTS):
            await work.do(events)

    return command


class _Work:
    """A batch, whatever it is of: state, rows, headers, frames, and then who is told.

    `theirs` are errors of who wrote the record; any other is taken for one of ours.
    """

    def __init__(
        self, inbox: Inbox, take: Take, dead: DeadLetters, lane: str, theirs: tuple[type[Exception], ...] = ()
    ) -> None:
        self._inbox, self._take, self._dead, self._theirs = inbox, take, dead, theirs
        self._showing = Showing(inbox.app, inbox.store, inbox.tail, inbox.clock)
        self._records = STAGE_RECORDS.labels(role=ROLE, lane=lane)
        self._seconds = STAGE_SECONDS.labels(role=ROLE)

    async def do(self, events: Sequence[EventT[bytes]]) -> Writes:
        """All of it; the batch is held back until the database can be killed without losing it."""
        inbox, writes, turn = self._inbox, Writes(), None
        with self._seconds.time():
            try:
                async with settled(inbox.app, inbox.states) as outgoing:
                    for event in events:
                        self._one(event, writes, outgoing)
                    turn = inbox.turns.take(writes.headers)
                async with settled(inbox.app) as outgoing:
                    await self._showing.show(writes, turn, outgoing)
            finally:
                if turn is not None:
                    turn.end()
        inbox.rest.hold(events)
        self._records.inc(len(events))
        return writes

    def _one(self, event: EventT[bytes], writes: Writes, outgoing: Outgoing) -> None:
        now = self._inbox.clock()
        try:
            self._take(event, writes, outgoing)
            self._dead.handled(event)
        except StoreFailed:
            raise
        except self._theirs as error:
            self._dead.keep(event, type(error).__name__, str(error), outgoing, now=now)
        except Exception as error:  # noqa: BLE001  the fault is in the record, or in our code for it
            self._dead.bury(event, error, outgoing, now=now)
