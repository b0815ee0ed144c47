"""Notifications in; deliveries, timers and decisions out."""

from collections import Counter
from collections.abc import Iterable
from functools import partial

import msgspec
from faust.types import AgentT, EventT, StreamT

from agents.clock import Clock, wall_clock
from agents.deciding import Decided, Rules, following
from agents.schedule import DUE_HEADER
from notify_streams.domain import meeting, stopping, windows
from notify_streams.domain.budget import instant_of
from notify_streams.domain.dedup import Sighting, print_of
from notify_streams.domain.quiet_hours import reopens_at
from notify_streams.metrics import DECISIONS, DUPLICATES, QUEUE_AGE, STAGE_RECORDS, STAGE_SECONDS
from notify_streams.streaming import topics
from notify_streams.streaming.app import App, topic
from notify_streams.streaming.batches import batches
from notify_streams.streaming.deadletters import DeadLetters
from notify_streams.streaming.keyed import keyed
from notify_streams.streaming.lanes import GATHER_S
from notify_streams.streaming.outgoing import Outgoing
from notify_streams.streaming.settle import Pipeline, settled
from schemas.catalogue import Catalogue
from schemas.codec import encode
from schemas.decisions import CatalogueV1, Deliver, Verdict
from schemas.notifications import FlushV1, NotificationV1, decode_notification, decode_notification_or_flush
from schemas.profiles import ProfileV1
from schemas.user_state import Window
from schemas.words import Lane
from tables.by_event import StoreFailed
from tables.profiles import Profiles
from tables.user_state import UserStates

BATCH: dict[Lane, int] = {"high": 500, "normal": 500, "low": 200}  # HIGH waits for what LOW is at
_ANNOUNCED_MS = 24 * 3600 * 1000
ROLE = "orchestrator"
Ended = tuple[int, bytes, bytes, int]  # of a window: partition, user, key and number


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
        self.rules, self.clock = Rules(catalogue, tzdata=tzdata), clock
        self.counts: Counter[tuple[str, str, str]] = Counter()
        self._announced_at = -_ANNOUNCED_MS

    def announce(self, outgoing: Outgoing) -> None:
        """Once per process and day: what the catalogue's hash in the decisions stands for, as long as they are kept."""
        now = self.clock()
        if not 0 <= now - self._announced_at < _ANNOUNCED_MS:
            body = msgspec.Raw(encode(self.catalogue))
            outgoing.add(topics.DECISIONS, 0, b"", encode(CatalogueV1(hash=self.catalogue.hash, body=body)))
            self._announced_at = now

    def take(self, event: EventT[bytes], outgoing: Outgoing) -> Ended | None:
        """Decide one notification, or end one window and say which.

        No await: nobody may see a user's state half way.
        """
        partition, user, value = keyed(event)
        met = decode_notification_or_flush(value)
        if isinstance(met, FlushV1):
            decided = self._flush(partition, user, met, outgoing)
        else:
            decided = self._met(partition, user, met, event, outgoing)
        if decided is None:
            return None
        for key, number, id_, item in decided.items:
            self.states.collect(partition, user, key, number, id_, item, outgoing)
        for window in decided.windows:
            self.states.keep(partition, user, windows.of_window(window), window, outgoing)
        self.states.store(partition, user, decided.state, outgoing)
        for name, record in decided.records:
            outgoing.add(name, partition, user, record)
        for verdict in decided.verdicts:
            self.counts[_labels(verdict)] += 1
        if isinstance(met, FlushV1) and decided.ended:
            return partition, user, windows.of_flush(met), met.number
        return None

    def _met(
        self, partition: int, user: bytes, notification: NotificationV1, event: EventT[bytes], outgoing: Outgoing
    ) -> Decided | None:
        if notification.user_id.encode() != user:
            raise ValueError("$.user_id: another user than the record's key")
        type_ = self.catalogue.types.get(notification.type)
        if type_ is None:
            raise ValueError(f"$.type: the catalogue has no type {notification.type!r} any more")
        known = partial(self.states.windows, partition, user)
        state, profile = self.states.load(partition, user), self.profiles.load(partition, user)
        if state.older:
            state = self.states.recalled(partition, user, state, print_of(notification.notification_id))
        met = meeting.meet(state, notification, profile.version, self.clock())
        if met.sighting is Sighting.DUPLICATE:
            DUPLICATES.labels(stage=ROLE).inc()
            return None
        if met.apart:
            self._put_again(partition, user, outgoing)
        if not met.channels:
            return None
        if met.channels != notification.channels or met.revision != notification.revision:
            notification = msgspec.structs.replace(notification, channels=met.channels, revision=met.revision)
        if meeting.comes_back(notification):
            notification = _as_released(notification, event)
        elif notification.collapse_key is not None:
            again = met.sighting is not Sighting.FRESH
            followed = stopping.collapse(state, notification, met.now, again=again)
            decided = self.rules.decided(notification, profile, followed.state, met, known)
            return decided.after(*following(followed))
        return self.rules.decided(notification, profile, state, met, known)

    def _put_again(self, partition: int, user: bytes, outgoing: Outgoing) -> None:
        """What waits in a window is left to that: whose timer may have got lost before it is met again."""
        for timer in windows.standing(self.states.windows(partition, user)):
            outgoing.add(topics.TIMERS, partition, user, encode(timer))

    def _flush(self, partition: int, user: bytes, flush: FlushV1, outgoing: Outgoing) -> Decided | None:
        key, now = windows.of_flush(flush), self.clock()
        window = self.states.window(partition, user, key, flush.number)
        if window is None:  # forgotten: this is a repeat, or nobody's
            return None
        if flush.over:
            if window.closed_at:
                self.states.forget(partition, user, key, flush.number, outgoing)
            return None
        known = partial(self.states.windows, partition, user)
        state, profile = self.states.load(partition, user), self.profiles.load(partition, user)
        later = windows.put_off(window, now, self._quiet_until(window, profile, now))
        if later is not None:
            return Decided(state, ((topics.TIMERS, encode(windows.timer_of(later))),), windows=(later,))
        kept = self.states.collected(partition, user, key, flush.number, 2 * self.catalogue.windows.max_size)
        items = [decode_notification(item) for item in kept]
        over = windows.closed(window, instant_of(state.charged, now))
        return self.rules.flushed(over, user.decode(), items, profile, state, known)

    def _quiet_until(self, window: Window, profile: ProfileV1, now: int) -> int | None:
        zone = windows.zone_of(self.catalogue, window.tenant, profile.zone)
        return reopens_at(profile.quiet_hours, zone, window.channel, now) if profile.quiet_hours else None

    async def empty(self, ended: Iterable[Ended]) -> None:
        """Delete the items of windows of which the broker has what became of them."""
        async with settled(self.app, self.states) as outgoing:
            for partition, user, key, number in ended:
                self.states.empty(partition, user, key, number, outgoing)

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
        async for events in batches(stream, BATCH[lane], GATHER_S[lane]):
            ended: list[Ended] = []
            with seconds.time():
                async with pipeline.settled(events) as outgoing:
                    orchestrator.announce(outgoing)
                    for event in events:
                        try:
                            over = orchestrator.take(event, outgoing)
                            ended += [] if over is None else [over]
                            dead.handled(event)
                        except StoreFailed:
                            raise
                        except Exception as error:  # noqa: BLE001  all else here is pure: the fault is in the record
                            dead.bury(event, error, outgoing, now=clock())
            if ended:
                await pipeline.drained()
                await orchestrator.empty(ended)
            orchestrator.publish_counts()
            records.inc(len(events))
            age.set(clock() / 1000 - events[0].message.timestamp)

    return orchestrate


def _as_released(notification: NotificationV1, event: EventT[bytes]) -> NotificationV1:
    """Due when its timer was: that may have been moved since the record was made."""
    due_at = dict(event.message.headers or ()).get(DUE_HEADER)
    return notification if due_at is None else msgspec.structs.replace(notification, due_at=int(due_at))


def _labels(verdict: Verdict) -> tuple[str, str, str]:
    reason = "" if isinstance(verdict, Deliver) else verdict.reason.value
    return verdict.channel, type(verdict).__name__.lower(), reason
