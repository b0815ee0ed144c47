"""Stops in; the gates that a sender's deliveries have to pass, and whether these are up to date."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from aiokafka.errors import KafkaError
from faust.types import AgentT, EventT, StreamT

from agents.clock import Clock, wall_clock
from notify_streams.domain.gate import after
from notify_streams.metrics import STAGE_RECORDS
from notify_streams.ports import Unavailable
from notify_streams.streaming import topics
from notify_streams.streaming.app import App, topic
from notify_streams.streaming.batches import batches
from notify_streams.streaming.deadletters import DeadLetters
from notify_streams.streaming.keyed import keyed
from notify_streams.streaming.outgoing import Outgoing
from notify_streams.streaming.settle import PATIENCE_S, leave, persistently, settled
from schemas.codec import encode
from schemas.stops import Gate, StopV1, decode_stop
from tables.by_event import StoreFailed
from tables.gates import Gates

log = logging.getLogger(__name__)
BATCH, LOOK_S, SWEPT = 500, 0.25, 2


class Gatekeeper:
    """The one writer of a sender's gates. `interrupted` says of a stop or a rebalance: then no wait goes on."""

    def __init__(
        self,
        app: App,
        gates: Gates,
        dead: DeadLetters,
        *,
        interrupted: Callable[[], bool],
        patience_s: float = PATIENCE_S,
        clock: Clock = wall_clock,
    ) -> None:
        self.app, self.gates, self.dead, self.clock = app, gates, dead, clock
        self._interrupted, self._patience_s = interrupted, patience_s
        self._handled: dict[int, int] = {}
        self._moved = asyncio.Event()
        self._caught_up_in: dict[int, int] = {}

    def outgoing(self) -> Outgoing:
        """What marks go out with. aiokafka's own `send` loses sight of a topic when another one is added to what it
        knows (tried: no leader for 15 s at one start in two).
        """
        return Outgoing(self.app.raw_producer, self.app.topic_prefix)

    def gate(self, partition: int, user: bytes) -> Gate:
        """What is known of the user now."""
        return self.gates.load(partition, user)

    def take(self, event: EventT[bytes], outgoing: Outgoing) -> None:
        """Add one stop to its user's gate; no await. One that is past is left alone, and so are marks."""
        stop, now = decode_stop(event.message.value or b"null"), self.clock()
        if stop.until <= now:
            return
        partition, user, _ = keyed(event)
        self.gates.store(partition, user, after(self.gates.load(partition, user), stop, now), outgoing)
        self.gates.sweep(partition, now, SWEPT, outgoing)

    def handled(self, partition: int, offset: int) -> None:
        """From now on deliveries meet everything up to this stop."""
        self._handled[partition] = max(offset, self._handled.get(partition, -1))
        self._moved.set()
        self._moved = asyncio.Event()

    async def caught_up(self, partitions: Iterable[int]) -> bool:
        """Wait until all is known that was on these partitions of `stops`; False where that was interrupted.

        Once per partition and assignment. A mark is put at the end of `stops`, and the wait is over when the agent
        meets it: by offsets alone nobody can tell, since the end of a log may hold no record (markers, retention),
        and what is fetched may still be on its way to the agent.
        """
        generation = self.app.consumer_generation_id
        new = [p for p in partitions if self._caught_up_in.get(p) != generation]
        if not new:
            return True
        if self._interrupted():
            return False
        marks = await self._marked(new)
        while any(self._handled.get(partition, -1) < offset for partition, offset in marks.items()):
            if self._interrupted():
                return False
            with suppress(TimeoutError):
                await asyncio.wait_for(self._moved.wait(), LOOK_S)
        self._caught_up_in |= dict.fromkeys(new, generation)
        log.info("gates.caught_up partitions=%s generation=%d", sorted(new), generation)
        return True

    async def _marked(self, partitions: Sequence[int]) -> Mapping[int, int]:
        """The offset of a mark on each: a stop that concerns nobody. Ends the process where Kafka stays away."""
        try:
            return await persistently(partial(self._mark, partitions), patience_s=self._patience_s)
        except Exception:  # noqa: BLE001  an outage or a bug: either way nothing may be sent past the gates
            leave("gates.unmarked")

    async def _mark(self, partitions: Sequence[int]) -> Mapping[int, int]:
        outgoing, mark = self.outgoing(), encode(StopV1(at=self.clock(), until=0))
        for partition in partitions:
            outgoing.add(topics.STOPS, partition, None, mark)
        try:
            return {tp.partition: offset for tp, offset in (await outgoing.flush()).items()}
        except KafkaError as error:
            raise Unavailable(f"no mark on {topics.STOPS}: {error!r}") from error


def register(gatekeeper: Gatekeeper, *, role: str) -> AgentT[bytes]:
    """The agent on `stops` of this sender."""
    app, dead = gatekeeper.app, gatekeeper.dead
    records = STAGE_RECORDS.labels(role=role, lane="stops")

    @app.agent(topic(app, topics.STOPS), name=f"{role}.stops")
    async def stops(stream: StreamT[bytes]) -> None:
        async for events in batches(stream, BATCH):
            async with settled(app, gatekeeper.gates) as outgoing:
                for event in events:
                    try:
                        gatekeeper.take(event, outgoing)
                        dead.handled(event)
                    except StoreFailed:
                        raise
                    except Exception as error:  # noqa: BLE001  the fault is in the record, or in our code for it
                        dead.bury(event, error, outgoing, now=gatekeeper.clock())
                    gatekeeper.handled(event.message.partition, event.message.offset)
            records.inc(len(events))

    return stops
