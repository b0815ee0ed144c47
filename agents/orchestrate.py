"""Notifications in; deliveries, timers and decisions out."""

from collections import Counter
from collections.abc import Iterator

import msgspec
from faust.types import AgentT, EventT, StreamT

from agents.clock import Clock, wall_clock
from notify_streams.domain import fan_out, meeting
from notify_streams.domain.decide import decide, slice_of
from notify_streams.domain.dedup import Sighting, print_of
from notify_streams.metrics import DECISIONS, DUPLICATES, QUEUE_AGE, STAGE_RECORDS, STAGE_SECONDS
from notify_streams.streaming import topics
from notify_streams.streaming.app import App, topic
from notify_streams.streaming.batches import batches
from notify_streams.streaming.deadletters import DeadLetters
from notify_streams.streaming.keyed import keyed
from notify_streams.streaming.lanes import GATHER_S
from notify_streams.streaming.outgoing import Outgoing
from notify_streams.streaming.settle import Pipeline
from schemas.catalogue import Catalogue
from schemas.codec import encode
from schemas.decisions import CatalogueV1, Deliver, Verdict
from schemas.notifications import NotificationV1, decode_notification
from schemas.profiles import ProfileV1
from schemas.words import Lane
from tables.by_event import StoreFailed
from tables.profiles import Profiles
from tables.user_state import UserStates

BATCH = 500
_ANNOUNCED_MS = 24 * 3600 * 1000
ROLE = "orchestrator"


class Orchestrator:
    """What all three lanes share."""

    def __init__(
        self,
        app: App,
        states: UserStates,
        profiles: Profiles,
        catalogue: Catalogue,
        dead: DeadLetters,
        *,
        tzdata: str,
        clock: Clock = wall_clock,
    ) -> None:
        self.app, self.states, self.profiles, self.catalogue, self.dead = app, states, profiles, catalogue, dead
        self.tzdata, self.clock = tzdata, clock
        self.counts: Counter[tuple[str, str, str]] = Counter()
        self._announced_at = -_ANNOUNCED_MS

    def announce(self, outgoing: Outgoing) -> None:
        """Once per process and day: what the catalogue's hash in the decisions stands for, as long as they are kept."""
        now = self.clock()
        if not 0 <= now - self._announced_at < _ANNOUNCED_MS:
            body = msgspec.Raw(encode(self.catalogue))
            outgoing.add(topics.DECISIONS, 0, b"", encode(CatalogueV1(hash=self.catalogue.hash, body=body)))
            self._announced_at = now

    def take(self, event: EventT[bytes], outgoing: Outgoing) -> None:
        """Decide one notification. No await: other lanes and batches must not see a user's state half way."""
        partition, user, value = keyed(event)
        notification = decode_notification(value)
        type_ = self.catalogue.types.get(notification.type)
        if type_ is None:
            raise ValueError(f"$.type: the catalogue has no type {notification.type!r} any more")
        state, profile = self.states.load(partition, user), self.profiles.load(partition, user)
        if state.older:
            state = self.states.recalled(partition, user, state, print_of(notification.notification_id))
        met = meeting.meet(state, notification, profile.version, self.clock())
        if met.sighting is Sighting.DUPLICATE:
            DUPLICATES.labels(stage=ROLE).inc()
            return
        if met.channels != notification.channels or met.revision != notification.revision:
            notification = msgspec.structs.replace(notification, channels=met.channels, revision=met.revision)
        seen_of_profile = slice_of(profile, notification, type_)
        seen_of_state = meeting.slice_of(state, notification)
        verdicts = decide(notification, seen_of_profile, seen_of_state, self.catalogue, met.now)
        after = meeting.leave(state, notification, met, profile.version, verdicts)
        decision = fan_out.record(
            notification,
            seen_of_profile,
            seen_of_state,
            verdicts,
            now=met.now,
            catalogue=self.catalogue.hash,
            tzdata=self.tzdata,
        )
        follows = [*self._follows(notification, profile, verdicts, met), (topics.DECISIONS, encode(decision))]
        self.states.store(partition, user, after, outgoing)
        for name, record in follows:
            outgoing.add(name, partition, user, record)
        for verdict in verdicts:
            self.counts[_labels(verdict)] += 1

    def _follows(
        self, notification: NotificationV1, profile: ProfileV1, verdicts: tuple[Verdict, ...], met: meeting.Meeting
    ) -> Iterator[tuple[str, bytes]]:
        for verdict in verdicts:
            if isinstance(verdict, Deliver):
                name = topics.deliveries(verdict.channel, notification.lane)
                for delivery in fan_out.deliveries(notification, profile, verdict, met.now, met.revision):
                    yield name, encode(delivery)
        for timer in fan_out.timers(notification, verdicts, met.revision):
            yield topics.TIMERS, encode(timer)

    def publish_counts(self) -> None:
        """Once per batch: a metric costs more than a decision's rule."""
        for (channel, decision, reason), count in self.counts.items():
            DECISIONS.labels(channel=channel, decision=decision, reason=reason).inc(count)
        self.counts.clear()


def register(orchestrator: Orchestrator, *, lane: Lane) -> AgentT[bytes]:
    """The agent of one lane. All lanes share the tables: see `Orchestrator.take`."""
    app, dead, clock = orchestrator.app, orchestrator.dead, orchestrator.clock
    records, seconds, age = (
        STAGE_RECORDS.labels(role=ROLE, lane=lane),
        STAGE_SECONDS.labels(role=ROLE),
        QUEUE_AGE.labels(role=ROLE, lane=lane),
    )

    pipeline = Pipeline(app, orchestrator.states, orchestrator.profiles)

    @app.agent(topic(app, topics.notifications(lane)), name=f"{ROLE}.{lane}")
    async def orchestrate(stream: StreamT[bytes]) -> None:
        async for events in batches(stream, BATCH, GATHER_S[lane]):
            with seconds.time():
                async with pipeline.settled(events) as outgoing:
                    orchestrator.announce(outgoing)
                    for event in events:
                        try:
                            orchestrator.take(event, outgoing)
                            dead.handled(event)
                        except StoreFailed:
                            raise
                        except Exception as error:  # noqa: BLE001  all else here is pure: the fault is in the record
                            dead.bury(event, error, outgoing, now=clock())
            orchestrator.publish_counts()
            records.inc(len(events))
            age.set(clock() / 1000 - events[0].message.timestamp)

    return orchestrate


def _labels(verdict: Verdict) -> tuple[str, str, str]:
    reason = "" if isinstance(verdict, Deliver) else verdict.reason.value
    return verdict.channel, type(verdict).__name__.lower(), reason
