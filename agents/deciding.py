"""A decision and all that follows from it, as values: the new state, the records to publish, the items to keep."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple
from uuid import UUID

import msgspec

from notify_streams.domain import digests, fan_out, meeting, windows
from notify_streams.domain.budget import is_limited
from notify_streams.domain.decide import decide, slice_of
from notify_streams.domain.dedup import Sighting
from notify_streams.domain.meeting import Meeting
from notify_streams.domain.stopping import Followed
from notify_streams.streaming import topics
from schemas.catalogue import Catalogue, NotificationType
from schemas.codec import encode
from schemas.decisions import Collect, Deliver, ProfileSlice, StateSlice, Suppress, Verdict
from schemas.notifications import NotificationV1
from schemas.profiles import ProfileV1
from schemas.timers import PutTimerV1
from schemas.user_state import UserState, Window

Record = tuple[str, bytes]
Item = tuple[bytes, int, bytes, bytes]  # the key of its window, the window's number, its own id, itself
Known = Callable[[bytes], Sequence[Window]]


class Decided(msgspec.Struct, frozen=True):
    """What is to be written and published together. `records` are topics without prefix, and values."""

    state: UserState
    records: tuple[Record, ...]
    verdicts: tuple[Verdict, ...] = ()
    items: tuple[Item, ...] = ()
    windows: tuple[Window, ...] = ()
    ended: bool = False

    def after(self, *records: Record) -> "Decided":
        """The same, with these published first."""
        return msgspec.structs.replace(self, records=(*records, *self.records))

    def joined(self, records: Iterable[Record], verdicts: Iterable[Verdict], moved: "Collected") -> "Decided":
        """The same and more; of a window that has grown more than once the last word."""
        grown = {(w.channel, w.key, w.number): w for w in (*self.windows, *moved.windows)}
        return msgspec.structs.replace(
            self,
            records=(*self.records, *records),
            verdicts=(*self.verdicts, *verdicts),
            items=(*self.items, *moved.items),
            windows=tuple(grown.values()),
        )


class Collected(NamedTuple):
    """What waits from now on, and in which windows."""

    items: tuple[Item, ...] = ()
    windows: tuple[Window, ...] = ()
    timers: tuple[PutTimerV1, ...] = ()


NOTHING = Collected()


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

    def decided(
        self, notification: NotificationV1, profile: ProfileV1, state: UserState, met: Meeting, known: Known
    ) -> Decided:
        """One notification of a type of the catalogue; `known` are the user's windows of a key.

        A repeat gives the same, but no second charge and no new item.
        """
        type_ = self.catalogue.types[notification.type]
        of_profile = slice_of(profile, notification, type_)
        of_state = meeting.slice_of(state, notification, met.now)
        verdicts = decide(notification, of_profile, of_state, self.catalogue, met.now)
        costs = is_limited(self.catalogue.budget) and not (type_.mandatory or digests.is_digest(notification))
        state = meeting.leave(state, notification, met, profile.version, verdicts, costs=costs)
        waits = any(isinstance(verdict, Collect) for verdict in verdicts)
        collected = self._collected(notification, verdicts, met, known) if waits else NOTHING
        records = (
            *_follows(notification, type_, profile, verdicts, met),
            *((topics.TIMERS, encode(timer)) for timer in collected.timers),
            (topics.DECISIONS, self._record(notification, of_profile, of_state, verdicts, met.now)),
        )
        return Decided(state, records, verdicts, collected.items, collected.windows)

    def flushed(
        self,
        window: Window,
        user_id: str,
        items: Sequence[NotificationV1],
        profile: ProfileV1,
        state: UserState,
        known: Known,
    ) -> Decided:
        """The end of a closed window: each item asked once more, and what is left sent as one."""
        members: list[NotificationV1] = []
        over = Decided(state, ((topics.TIMERS, encode(windows.end_of(window))),), windows=(window,), ended=True)
        for item in items:
            if item.type not in self.catalogue.types:
                back = encode(digests.given_back(item, window))
                over = over.after((topics.notifications(item.lane), back))
                continue
            verdicts, records, moved = self._joined(item, profile, state, window, known)
            members += [] if records else [item]
            over = over.joined(records, verdicts if records else (), moved)
        if not members:
            return over
        digest = digests.digest(window, user_id, members, self.catalogue.windows)
        met = Meeting(Sighting.FRESH, digest.channels, window.closed_at, 0)
        decided = self.decided(digest, profile, state, met, known)
        whole = over.joined(decided.records, decided.verdicts, NOTHING)
        return msgspec.structs.replace(whole, state=decided.state)

    def _joined(
        self, item: NotificationV1, profile: ProfileV1, state: UserState, window: Window, known: Known
    ) -> tuple[tuple[Verdict, ...], tuple[Record, ...], Collected]:
        """Whether an item still belongs into its digest; where not, the record that says why, and where it goes on."""
        at = window.closed_at
        of_profile = slice_of(profile, item, self.catalogue.types[item.type])
        of_state = meeting.slice_of(state, item, at, window)
        verdicts = decide(item, of_profile, of_state, self.catalogue, at)
        if not any(isinstance(verdict, Suppress | Collect) for verdict in verdicts):
            return verdicts, (), NOTHING
        moved = self._collected(item, verdicts, Meeting(Sighting.FRESH, item.channels, at, item.revision), known)
        record = (topics.DECISIONS, self._record(item, of_profile, of_state, verdicts, at))
        return verdicts, (*((topics.TIMERS, encode(timer)) for timer in moved.timers), record), moved

    def _collected(
        self, notification: NotificationV1, verdicts: tuple[Verdict, ...], met: Meeting, known: Known
    ) -> Collected:
        items: list[Item] = []
        grown: list[Window] = []
        timers: list[PutTimerV1] = []
        for verdict in verdicts:
            if not isinstance(verdict, Collect):
                continue
            key = windows.key_of(verdict.channel, verdict.window, notification.source)
            if verdict.channel in met.collected:
                timers += windows.standing(known(key))
                continue
            item = encode(digests.item_of(notification, verdict.channel, met.revision))
            limits = self.catalogue.windows
            step = windows.added(known(key), verdict, notification, size=len(item), now=met.now, limits=limits)
            items.append((key, step.window.number, UUID(notification.notification_id).bytes, item))
            grown.append(step.window)
            timers += [] if step.timer is None else [step.timer]
        return Collected(tuple(items), tuple(grown), tuple(timers))

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
    notification: NotificationV1,
    type_: NotificationType,
    profile: ProfileV1,
    verdicts: tuple[Verdict, ...],
    met: Meeting,
) -> Iterator[Record]:
    for verdict in verdicts:
        if isinstance(verdict, Deliver):
            name = topics.deliveries(verdict.channel, notification.lane)
            after = fan_out.stand_ins(notification, type_, verdict.channel)
            for delivery in fan_out.deliveries(notification, profile, verdict, met.now, met.revision, after):
                yield name, encode(delivery)
        elif isinstance(verdict, Suppress) and notification.members:
            yield topics.OUTCOMES, encode(digests.not_sent(notification, verdict, met.now))
    for timer in fan_out.timers(notification, verdicts, met.revision, fan_out.offered(notification, type_)):
        yield topics.TIMERS, encode(timer)
