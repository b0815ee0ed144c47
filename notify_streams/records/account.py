"""The sum that has to come out: what was published, and what became of it."""

from collections import Counter
from collections.abc import Mapping

import msgspec

from notify_streams.domain.attempts import Flag
from notify_streams.domain.status import NotificationStatus
from schemas.notifications import NotificationV1
from schemas.words import Channel, Lane, State

TERMS: Mapping[State, str] = {
    State.SENT: "sent",
    State.DELIVERED: "sent",
    State.FAILED: "failed",
    State.EXPIRED: "expired",
    State.CANCELLED: "cancelled",
    State.SUPPRESSED: "suppressed",
    State.COLLECTED: "collected",
    State.DEFERRED: "pending",
    State.PENDING: "pending",
    State.QUEUED: "pending",
}


class Open(msgspec.Struct, frozen=True, kw_only=True):
    """An accepted notification of which nobody can say that it ended or what it waits for. `heard_at` in ms."""

    notification_id: str
    user_id: str
    type: str
    source: str
    event_id: str
    lane: Lane
    origin: str
    accepted_at: int
    heard_at: int
    channels: dict[Channel, State] = {}


class Account(msgspec.Struct, kw_only=True):
    """Counts of one span of the events topics (ms). Events first, then notifications, then their channels.

    published = accepted + rejected + tombstones + duplicates + unsampled. `unaccounted` are older than the grace,
    `in_flight` younger; of each at most `LISTED` are named, all are counted.
    """

    since: int
    until: int
    sample: float = 1.0
    published: int = 0
    tombstones: int = 0
    rejected: int = 0
    duplicates: int = 0
    unsampled: int = 0
    accepted: int = 0
    notifications: int = 0
    rejections: Counter[str] = msgspec.field(default_factory=Counter)
    channels: dict[Channel, Counter[str]] = msgspec.field(default_factory=dict)
    flags: Counter[Flag] = msgspec.field(default_factory=Counter)
    unaccounted_count: int = 0
    in_flight_count: int = 0
    unaccounted: list[Open] = msgspec.field(default_factory=list)
    in_flight: list[Open] = msgspec.field(default_factory=list)
    seconds: float = 0.0

    def terms(self) -> Counter[str]:
        """Per (notification, channel), over all channels."""
        return sum(self.channels.values(), Counter())

    def adds_up(self) -> bool:
        """Every published record is one of its terms, and nothing accepted is unaccounted for."""
        terms = self.accepted + self.rejected + self.tombstones + self.duplicates + self.unsampled
        return self.published == terms and self.unaccounted_count == 0

    def add(self, status: NotificationStatus) -> None:
        """Count the channels of a notification."""
        for channel in status.channels:
            self.channels.setdefault(channel.channel, Counter())[TERMS[channel.state]] += 1
        self.flags.update(status.flags)


LISTED = 1000


def still_open(notification: NotificationV1, status: NotificationStatus | None) -> Open:
    """What is known of a notification that is not settled."""
    return Open(
        notification_id=notification.notification_id,
        user_id=notification.user_id,
        type=notification.type,
        source=notification.source,
        event_id=notification.event_id,
        lane=notification.lane,
        origin=notification.origin,
        accepted_at=notification.accepted_at,
        heard_at=max(notification.accepted_at, _last_word(status)),
        channels={} if status is None else {c.channel: c.state for c in status.channels},
    )


def _last_word(status: NotificationStatus | None) -> int:
    if status is None:
        return 0
    decided = [channel.decided_at or 0 for channel in status.channels]
    attempted = [a.at for channel in status.channels for d in channel.deliveries for a in d.attempts]
    return max([*decided, *attempted], default=0)
