"""Decisions, outcomes, receipts and profiles in; facts kept for reading. It never reads, so order cannot matter."""

from collections.abc import Callable
from functools import partial

import msgspec
from faust.types import AgentT, EventT, StreamT

from agents.clock import Clock, wall_clock
from notify_streams.metrics import QUEUE_AGE, STAGE_RECORDS, STAGE_SECONDS
from notify_streams.ports import Records
from notify_streams.records.rows import checked
from notify_streams.streaming import topics
from notify_streams.streaming.app import App, topic
from notify_streams.streaming.batches import batches
from notify_streams.streaming.deadletters import DeadLetters
from notify_streams.streaming.keyed import keyed
from notify_streams.streaming.lanes import FACTS_S
from notify_streams.streaming.rest import Rest
from notify_streams.streaming.settle import persistently, settled
from schemas.decisions import CatalogueV1, decode_decision
from schemas.facts import Fact, InboxFact
from schemas.outcomes import InboxOutcomesV1, decode_outcome
from schemas.profiles import ProfileV1, decode_profile
from schemas.receipts import ReceiptV1, decode_receipt

BATCH = 1000
ROLE = "recorder"


class Kept(msgspec.Struct):
    """What one batch adds: facts, catalogues by hash, the newest profile per user."""

    facts: list[Fact] = []
    catalogues: dict[str, bytes] = {}
    profiles: dict[str, ProfileV1] = {}


class Recorder:
    """What the three agents share."""

    def __init__(self, app: App, records: Records, dead: DeadLetters, rest: Rest, *, clock: Clock = wall_clock) -> None:
        self.app, self.records, self.dead, self.rest, self.clock = app, records, dead, rest, clock

    def decision(self, event: EventT[bytes], kept: Kept) -> None:
        """A decision, or the catalogue that decisions name by its hash."""
        decided = decode_decision(_value(event))
        if isinstance(decided, CatalogueV1):
            kept.catalogues[decided.hash] = bytes(decided.body)
        else:
            kept.facts.append(checked(decided))

    def outcome(self, event: EventT[bytes], kept: Kept) -> None:
        """One outcome, or all inbox writes of a batch."""
        met = decode_outcome(_value(event))
        if isinstance(met, InboxOutcomesV1):
            written = [
                InboxFact(notification_id=w.notification_id, delivery_id=w.delivery_id, sequence=w.sequence, at=met.at)
                for w in met.written
            ]
            kept.facts += [checked(fact) for fact in written]
        else:
            kept.facts.append(checked(met))

    def receipt(self, event: EventT[bytes], kept: Kept) -> None:
        """A provider's later word. What people write back is no fact of a notification: others read it here."""
        met = decode_receipt(_value(event))
        if isinstance(met, ReceiptV1):
            kept.facts.append(checked(met))

    def profile(self, event: EventT[bytes], kept: Kept) -> None:
        """The profile as it is now; a user's last one of the batch is enough."""
        _, user, value = keyed(event)
        kept.profiles[user.decode()] = decode_profile(value)

    async def keep(self, kept: Kept) -> None:
        """Write all. Raises Unavailable."""
        if kept.facts:
            await self.records.write(kept.facts)
        if kept.catalogues:
            await self.records.write_catalogues(kept.catalogues)
        if kept.profiles:
            await self.records.write_profiles(kept.profiles)


def register(recorder: Recorder) -> list[AgentT[bytes]]:
    """One agent per topic."""
    return [
        _agent(recorder, topics.DECISIONS, recorder.decision),
        _agent(recorder, topics.OUTCOMES, recorder.outcome),
        _agent(recorder, topics.RECEIPTS, recorder.receipt),
        _agent(recorder, topics.PROFILES, recorder.profile),
    ]


def _agent(recorder: Recorder, name: str, take: Callable[[EventT[bytes], Kept], None]) -> AgentT[bytes]:
    app, dead, clock = recorder.app, recorder.dead, recorder.clock
    records, seconds, age = (
        STAGE_RECORDS.labels(role=ROLE, lane=name),
        STAGE_SECONDS.labels(role=ROLE),
        QUEUE_AGE.labels(role=ROLE, lane=name),
    )

    @app.agent(topic(app, name), name=f"{ROLE}.{name}")
    async def record(stream: StreamT[bytes]) -> None:
        async for events in batches(stream, BATCH, FACTS_S):
            kept = Kept()
            with seconds.time():
                async with settled(app) as outgoing:
                    for event in events:
                        try:
                            take(event, kept)
                            dead.handled(event)
                        except Exception as error:  # noqa: BLE001  the fault is in the record, or in our code for it
                            dead.bury(event, error, outgoing, now=clock())
                    await persistently(partial(recorder.keep, kept))
            recorder.rest.hold(events)
            records.inc(len(events))
            age.set(clock() / 1000 - events[0].message.timestamp)

    return record


def _value(event: EventT[bytes]) -> bytes:
    value = event.message.value
    if value is None:
        raise ValueError("value: null means nothing on this topic")
    return value
