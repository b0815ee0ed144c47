"""What the files alone say: how many events they hold, and which notifications must come of them."""

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from notify_streams.domain.accept import Limits, Record, Rejected, accept
from schemas.catalogue import Catalogue
from schemas.notifications import NotificationV1
from schemas.words import Channel

from .lines import EventRecord, Post

Identity = tuple[str, str]


class Inputs(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of lines. `repeated` are those whose identity came before; each of them names one person."""

    records: int
    posts: int
    tombstones: int
    rejected: int
    repeated: int
    identities: frozenset[Identity]
    notifications: Mapping[str, NotificationV1]

    @property
    def published(self) -> int:
        """All lines."""
        return self.records + self.posts

    def per_channel(self) -> Counter[Channel]:
        """Of every notification each channel that has to be decided."""
        return Counter(channel for n in self.notifications.values() for channel in n.channels)


def identity(notification: NotificationV1) -> Identity:
    """Of its event: the idempotency key for a day."""
    return notification.source, notification.dedupe_key or notification.event_id


def inputs(
    records: Iterable[EventRecord], posts: Iterable[Post], catalogue: Catalogue, limits: Limits, *, now: int
) -> Inputs:
    """Each line checked by the rules that ingest has. `now` in ms."""
    events: list[EventRecord | None] = [*records]
    number = len(events)
    events += [post.event for post in posts]
    tombstones = rejected = repeated = 0
    identities: set[Identity] = set()
    notifications: dict[str, NotificationV1] = {}
    for event in events:
        if event is not None and event.value is None:
            tombstones += 1
            continue
        accepted = None if event is None else _accepted(event, catalogue, limits, now)
        if accepted is None:
            rejected += 1
            continue
        known = identity(accepted[0])
        repeated += known in identities
        identities.add(known)
        for notification in accepted:
            notifications.setdefault(notification.notification_id, notification)
    return Inputs(
        records=number,
        posts=len(events) - number,
        tombstones=tombstones,
        rejected=rejected,
        repeated=repeated,
        identities=frozenset(identities),
        notifications=notifications,
    )


def _accepted(event: EventRecord, catalogue: Catalogue, limits: Limits, now: int) -> tuple[NotificationV1, ...] | None:
    record = Record(value=event.value or b"", headers=event.headers, lane=event.lane, accepted_at=now, origin="file")
    result = accept(record, catalogue, limits)
    return None if isinstance(result, Rejected) else result.notifications
