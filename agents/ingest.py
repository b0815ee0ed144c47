"""Events in; notifications out, keyed by user."""

from types import MappingProxyType

from faust.types import AgentT, EventT, StreamT

from agents.clock import Clock, wall_clock
from notify_streams.domain.accept import TENANT_HEADER, Limits, Record, Rejected, Tenants, accept
from notify_streams.metrics import EVENTS, QUEUE_AGE, STAGE_RECORDS, STAGE_SECONDS
from notify_streams.streaming import topics
from notify_streams.streaming.app import App, topic
from notify_streams.streaming.batches import batches
from notify_streams.streaming.deadletters import DeadLetters
from notify_streams.streaming.lanes import GATHER_S
from notify_streams.streaming.outgoing import Outgoing, TooLarge
from notify_streams.streaming.partitions import Partitions
from notify_streams.streaming.settle import settled
from schemas.catalogue import Catalogue
from schemas.codec import encode
from schemas.words import Lane

BATCH, CHUNK_BYTES = 200, 8 * 1024 * 1024
ROLE = "ingest"


class Ingest:
    """What all three lanes share."""

    def __init__(
        self,
        app: App,
        catalogue: Catalogue,
        limits: Limits,
        dead: DeadLetters,
        *,
        tenants: Tenants = MappingProxyType({}),
        clock: Clock = wall_clock,
    ) -> None:
        self.app, self.catalogue, self.limits, self.dead, self.clock = app, catalogue, limits, dead, clock
        self.tenants = tenants
        self.partitions = Partitions(app.conf.topic_partitions)

    def take(self, event: EventT[bytes], lane: Lane, outgoing: Outgoing) -> None:
        """Queue what follows from one record: notifications, or one dead letter. A null value is only counted."""
        message = event.message
        if message.value is None:
            EVENTS.labels(outcome="tombstone").inc()
            return
        headers = dict(message.headers or {})
        record = Record(
            value=message.value,
            key=message.key,
            headers=headers,
            lane=lane,
            accepted_at=round(message.timestamp * 1000),
            origin=f"{message.topic}/{message.partition}/{message.offset}",
            tenant=(headers.get(TENANT_HEADER) or b"").decode(errors="replace"),
        )
        accepted = accept(record, self.catalogue, self.limits, self.tenants)
        if isinstance(accepted, Rejected):
            self._reject(event, accepted.code, accepted.words, outgoing)
            return
        EVENTS.labels(outcome="accepted").inc()
        for notification in accepted.notifications:
            user = notification.user_id.encode()
            name = topics.notifications(accepted.lane)
            outgoing.add(name, self.partitions.of(user), user, encode(notification))

    def _reject(self, event: EventT[bytes], code: str, words: str, outgoing: Outgoing) -> None:
        EVENTS.labels(outcome="rejected").inc()
        self.dead.keep(event, code, words, outgoing, now=self.clock())


def register(ingest: Ingest, *, lane: Lane) -> AgentT[bytes]:
    """The agent of one lane."""
    app = ingest.app
    records, seconds, age = (
        STAGE_RECORDS.labels(role=ROLE, lane=lane),
        STAGE_SECONDS.labels(role=ROLE),
        QUEUE_AGE.labels(role=ROLE, lane=lane),
    )

    @app.agent(topic(app, topics.events(lane)), name=f"{ROLE}.{lane}")
    async def take(stream: StreamT[bytes]) -> None:
        async for events in batches(stream, BATCH, GATHER_S[lane]):
            with seconds.time():
                async with settled(app) as outgoing:
                    for event in events:
                        try:
                            ingest.take(event, lane, outgoing)
                            ingest.dead.handled(event)
                        except TooLarge as error:
                            ingest.dead.keep(event, "too_large", str(error), outgoing, now=ingest.clock())
                        except Exception as error:  # noqa: BLE001  all else is pure: the fault is in the record or our code
                            ingest.dead.bury(event, error, outgoing, now=ingest.clock())
                        if outgoing.size > CHUNK_BYTES:
                            await outgoing.flush()
            records.inc(len(events))
            age.set(ingest.clock() / 1000 - events[0].message.timestamp)

    return take
