"""In-app deliveries in; inbox items, live frames and outcomes out."""

import logging
from functools import partial
from uuid import UUID

import msgspec
from faust.types import AgentT, EventT, StreamT

from agents.clock import Clock, wall_clock
from notify_streams.domain import ids, outcomes
from notify_streams.domain.dedup import print_of
from notify_streams.domain.gate import has_expired
from notify_streams.domain.rendered import RenderedInbox, TemplateFailed
from notify_streams.inbox.tail import LiveTail
from notify_streams.metrics import DELIVERIES, DUPLICATES, END_TO_END, QUEUE_AGE, STAGE_RECORDS, STAGE_SECONDS
from notify_streams.ports import InboxCounts, InboxItem, InboxStore, Renderer
from notify_streams.streaming import topics
from notify_streams.streaming.app import App, topic
from notify_streams.streaming.batches import batches
from notify_streams.streaming.deadletters import DeadLetters
from notify_streams.streaming.keyed import keyed
from notify_streams.streaming.lanes import GATHER_S
from notify_streams.streaming.outgoing import Outgoing
from notify_streams.streaming.rest import Rest
from notify_streams.streaming.settle import persistently, settled
from schemas.catalogue import Catalogue
from schemas.codec import encode
from schemas.deliveries import DeliveryV1, decode_delivery
from schemas.outcomes import InboxOutcomesV1, InboxWrite, OutcomeV1
from schemas.words import Lane, Reason
from tables.by_event import StoreFailed
from tables.inbox_state import InboxStates

log = logging.getLogger(__name__)
BATCH: dict[Lane, int] = {"high": 1000, "normal": 1000, "low": 400}  # HIGH waits for what LOW is at
ROLE = "inbox"


class Writes(msgspec.Struct):
    """What one batch adds to inboxes: items in order, the last header per user, and by partition who was written.

    `ended` are those that could not be shown.
    """

    items: list[InboxItem] = []
    headers: dict[str, InboxCounts] = {}
    written: dict[int, list[InboxWrite]] = {}
    new: list[DeliveryV1] = []
    ended: list[OutcomeV1] = []


class Inbox:
    """The one writer of inboxes."""

    def __init__(
        self,
        app: App,
        states: InboxStates,
        store: InboxStore,
        tail: LiveTail,
        renderer: Renderer,
        catalogue: Catalogue,
        dead: DeadLetters,
        rest: Rest,
        *,
        clock: Clock = wall_clock,
    ) -> None:
        self.app, self.states, self.store, self.tail = app, states, store, tail
        self.renderer, self.catalogue, self.dead = renderer, catalogue, dead
        self.rest, self.clock = rest, clock

    def take(self, event: EventT[bytes], writes: Writes, outgoing: Outgoing) -> None:
        """Give one delivery its place; no await. What cannot be shown ends here with its outcome."""
        partition, user, value = keyed(event)
        delivery, now = decode_delivery(value), self.clock()
        print_ = print_of(str(UUID(delivery.notification_id)))  # the database takes no other, and would try for ever
        known = self.states.knows(partition, user, print_)
        if not known and has_expired(delivery, now):
            late = outcomes.not_tried(delivery, Reason.EXPIRED, "", now)
            outgoing.add(topics.OUTCOMES, partition, user, encode(late))
            writes.ended.append(late)
            return
        try:
            rendered = self.renderer.inbox(delivery)
        except Exception as error:  # noqa: BLE001  rendering is pure: whatever it is, it is this delivery's alone
            if not isinstance(error, TemplateFailed):
                log.error("delivery.unrendered delivery_id=%s error=%s", delivery.delivery_id, type(error).__name__)
            failed = outcomes.not_tried(delivery, Reason.TEMPLATE_FAILED, str(error), now)
            outgoing.add(topics.OUTCOMES, partition, user, encode(failed))
            writes.ended.append(failed)
            self.dead.keep(event, Reason.TEMPLATE_FAILED, str(error), outgoing, now=now)
            return
        sequence, header, new = self.states.add(partition, user, print_, delivery.expires_at, outgoing)
        if new:
            writes.new.append(delivery)
        else:
            DUPLICATES.labels(stage=ROLE).inc()
        writes.items.append(self._item(delivery, rendered, sequence))
        writes.headers[delivery.user_id] = InboxCounts(header.sequence, header.unread, header.unseen)
        write = InboxWrite(delivery.notification_id, delivery.delivery_id, sequence, delivery.user_id, delivery.source)
        writes.written.setdefault(partition, []).append(write)

    def _item(self, delivery: DeliveryV1, rendered: RenderedInbox, sequence: int) -> InboxItem:
        type_ = self.catalogue.types.get(delivery.type)
        return InboxItem(
            user_id=delivery.user_id,
            item_id=ids.time_uuid(delivery.accepted_at, delivery.notification_id),
            notification_id=delivery.notification_id,
            type=delivery.type,
            category="" if type_ is None else type_.category,
            accepted_at=delivery.accepted_at,
            sequence=sequence,
            title=rendered.title,
            body=rendered.body,
            link=rendered.link,
            payload=b"{}" if delivery.content is None else bytes(delivery.content.payload),
            expires_at=delivery.expires_at,
        )

    def count(self, writes: Writes) -> None:
        """Metrics of one batch."""
        now = self.clock()
        DELIVERIES.labels(channel="inapp", state="sent").inc(len(writes.new))
        for outcome in writes.ended:
            DELIVERIES.labels(channel="inapp", state=outcome.state).inc()
        for delivery in writes.new:
            deferred = "no" if delivery.due_at is None else "yes"
            seconds = max(0, now - (delivery.due_at or delivery.accepted_at)) / 1000
            END_TO_END.labels(channel="inapp", lane=delivery.lane, deferred=deferred).observe(seconds)


def register(inbox: Inbox, *, lane: Lane) -> AgentT[bytes]:
    """The agent of one lane. Order: state and changelog, then Cassandra, then Redis; each may be repeated."""
    app, dead, clock = inbox.app, inbox.dead, inbox.clock
    records, seconds, age = (
        STAGE_RECORDS.labels(role=ROLE, lane=lane),
        STAGE_SECONDS.labels(role=ROLE),
        QUEUE_AGE.labels(role=ROLE, lane=lane),
    )

    @app.agent(topic(app, topics.deliveries("inapp", lane)), name=f"{ROLE}.{lane}")
    async def deliver(stream: StreamT[bytes]) -> None:
        async for events in batches(stream, BATCH[lane], GATHER_S[lane]):
            writes = Writes()
            with seconds.time():
                async with settled(app, inbox.states) as outgoing:
                    for event in events:
                        try:
                            inbox.take(event, writes, outgoing)
                            dead.handled(event)
                        except StoreFailed:
                            raise
                        except Exception as error:  # noqa: BLE001  the fault is in the record, or in our code for it
                            dead.bury(event, error, outgoing, now=clock())
                async with settled(app) as outgoing:
                    await persistently(partial(inbox.store.write, writes.items, writes.headers))
                    await inbox.tail.publish(writes.items, writes.headers)
                    for partition, written in writes.written.items():
                        record = InboxOutcomesV1(at=clock(), written=tuple(written))
                        outgoing.add(topics.OUTCOMES, partition, b"", encode(record))
            inbox.rest.hold(events)
            inbox.count(writes)
            records.inc(len(events))
            age.set(clock() / 1000 - events[0].message.timestamp)

    return deliver
