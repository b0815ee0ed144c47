"""A decision and all that follows from it, as values: the new state, the records to publish, the items to keep."""

from collections.abc import Iterator, Sequence

import msgspec

from notify_streams.domain import digests, fan_out, meeting, windows
from notify_streams.domain.budget import is_limited
from notify_streams.domain.decide import decide, slice_of
from notify_streams.domain.dedup import Sighting
from notify_streams.domain.meeting import Meeting
from notify_streams.domain.stopping import Followed
from notify_streams.streaming import topics
from schemas.catalogue import Catalogue
from schemas.codec import encode
from schemas.decisions import Collect, Deliver, ProfileSlice, StateSlice, Suppress, Verdict
from schemas.notifications import FlushV1, NotificationV1
from schemas.profiles import ProfileV1
from schemas.timers import PutTimerV1
from schemas.user_state import UserState

Record = tuple[str, bytes]
Item = tuple[bytes, int, str, bytes]  # the key of its window, the window's number, its id, itself


class Decided(msgspec.Struct, frozen=True):
    """What is to be written and published together. `records` are topics without prefix, and values."""

    state: UserState
    records: tuple[Record, ...]
    verdicts: tuple[Verdict, ...] = ()
    items: tuple[Item, ...] = ()
    ended: bool = False

    def after(self, *records: Record) -> "Decided":
        """The same, with these published first."""
        return msgspec.structs.replace(self, records=(*records, *self.records))


def following(followed: Followed) -> Iterator[Record]:
    """The records of what was stopped or planned anew."""
    for timer in followed.timers:
        yield topics.TIMERS, encode(timer)
    for stop in followed.stops:
        yield topics.STOPS, encode(stop)


class Rules(msgspec.Struct, frozen=True):
    """What every decision of this process is made with. Raises only for what is wrong with the record."""

    catalogue: Catalogue
    tzdata: str

    def decided(self, notification: NotificationV1, profile: ProfileV1, state: UserState, met: Meeting) -> Decided:
        """One notification of a type of the catalogue; a repeat gives the same, no second charge, no new item."""
        type_ = self.catalogue.types[notification.type]
        of_profile = slice_of(profile, notification, type_)
        of_state = meeting.slice_of(state, notification, met.now)
        verdicts = decide(notification, of_profile, of_state, self.catalogue, met.now)
        costs = is_limited(self.catalogue.budget) and not (type_.mandatory or notification.members)
        state = meeting.leave(state, notification, met, profile.version, verdicts, costs=costs)
        state, items, timers = self._collected(state, notification, verdicts, met)
        records = (
            *_follows(notification, profile, verdicts, met),
            *((topics.TIMERS, encode(timer)) for timer in timers),
            (topics.DECISIONS, self._record(notification, of_profile, of_state, verdicts, met.now)),
        )
        return Decided(state, records, verdicts, items)

    def flushed(
        self,
        flush: FlushV1,
        user_id: str,
        items: Sequence[NotificationV1],
        profile: ProfileV1,
        state: UserState,
        now: int,
    ) -> Decided:
        """The end of a window: each item asked once more, and what is left sent as one. `now` in ms."""
        state, at = windows.closed(state, flush, now)
        members: list[NotificationV1] = []
        records: list[Record] = []
        verdicts: tuple[Verdict, ...] = ()
        for item in items:
            if item.type not in self.catalogue.types:
                lane = topics.notifications(item.lane)  # where the orchestrator buries it
                records.append((lane, encode(item)))
                continue
            joined, record = self._joined(item, profile, state, at)
            if record is None:
                members.append(item)
            else:
                records.append((topics.DECISIONS, record))
                verdicts += joined
        if not members:
            return Decided(state, tuple(records), verdicts, ended=True)
        lane = windows.lane_of(state, flush)
        digest = digests.digest(flush, user_id, members, self.catalogue.windows, lane=lane, at=at)
        met = Meeting(Sighting.FRESH, digest.channels, at, 0)
        decided = self.decided(digest, profile, state, met)
        return msgspec.structs.replace(decided.after(*records), verdicts=(*verdicts, *decided.verdicts), ended=True)

    def _joined(
        self, item: NotificationV1, profile: ProfileV1, state: UserState, at: int
    ) -> tuple[tuple[Verdict, ...], bytes | None]:
        """Whether an item still belongs into its digest; where not, the record that says why."""
        of_profile = slice_of(profile, item, self.catalogue.types[item.type])
        of_state = meeting.slice_of(state, item, at, joining=True)
        verdicts = decide(item, of_profile, of_state, self.catalogue, at)
        if all(isinstance(verdict, Deliver) for verdict in verdicts):
            return verdicts, None
        return verdicts, self._record(item, of_profile, of_state, verdicts, at)

    def _collected(
        self, state: UserState, notification: NotificationV1, verdicts: tuple[Verdict, ...], met: Meeting
    ) -> tuple[UserState, tuple[Item, ...], list[PutTimerV1]]:
        """The state with what waits in windows; what is met again waits there already."""
        items: list[Item] = []
        timers: list[PutTimerV1] = []
        for verdict in verdicts:
            if not isinstance(verdict, Collect):
                continue
            if met.sighting is Sighting.REPEAT:
                timer = windows.standing(state, verdict)
            else:
                limits = self.catalogue.windows
                item = encode(digests.item_of(notification, verdict.channel, met.revision))
                state, window, timer = windows.added(
                    state,
                    verdict,
                    size=len(item),
                    lane=notification.lane,
                    tenant=notification.tenant,
                    now=met.now,
                    limits=limits,
                )
                key = windows.key_of(verdict.channel, verdict.window)
                items.append((key, window.number, notification.notification_id, item))
            timers += [] if timer is None else [timer]
        return state, tuple(items), timers

    def _record(
        self,
        notification: NotificationV1,
        of_profile: ProfileSlice,
        of_state: StateSlice,
        verdicts: tuple[Verdict, ...],
        now: int,
    ) -> bytes:
        record = fan_out.record(
            notification, of_profile, of_state, verdicts, now=now, catalogue=self.catalogue.hash, tzdata=self.tzdata
        )
        return encode(record)


def _follows(
    notification: NotificationV1, profile: ProfileV1, verdicts: tuple[Verdict, ...], met: Meeting
) -> Iterator[Record]:
    for verdict in verdicts:
        if isinstance(verdict, Deliver):
            name = topics.deliveries(verdict.channel, notification.lane)
            for delivery in fan_out.deliveries(notification, profile, verdict, met.now, met.revision):
                yield name, encode(delivery)
        elif isinstance(verdict, Suppress) and notification.members:
            yield topics.OUTCOMES, encode(digests.not_sent(notification, verdict, met.now))
    for timer in fan_out.timers(notification, verdicts, met.revision):
        yield topics.TIMERS, encode(timer)
