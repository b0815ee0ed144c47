"""What a replay has read and what became of it: sums that have to come out."""

from collections import Counter
from typing import Literal, get_args

import msgspec

from schemas.words import Channel

Aside = Literal["tombstones", "rejected", "unreadable", "other"]
Effect = Literal["sent", "failed", "expired", "cancelled", "suppressed", "collected", "waiting", "overdue"]
Term = Literal[Effect, "missing", "published", "late", "forgotten", "under_way", "repeated"]
ASIDES: tuple[Aside, ...] = get_args(Aside)
IN_WORDS: dict[Term, str] = {
    "missing": "have no effect yet",
    "published": "were published again",
    "late": "have no effect and have expired: reported, not sent",
    "forgotten": "are older than the facts are kept: nobody can tell, not sent",
    "under_way": "are on their way just now",
    "sent": "were sent",
    "failed": "ended in failure",
    "expired": "expired before they were sent",
    "cancelled": "were cancelled",
    "suppressed": "were decided not to be sent",
    "collected": "wait in a digest, or went out with one that is not sent yet",
    "waiting": "wait for a timer",
    "overdue": "wait for a timer that was due long ago: look at `notify timers`; not sent",
    "repeated": "were met before in what was read",
}
LISTED = 1000


class Found(msgspec.Struct, frozen=True):
    """A notification that lacks an effect on these channels."""

    notification_id: str
    user_id: str
    type: str
    channels: tuple[Channel, ...]


class Account(msgspec.Struct, kw_only=True):
    """Records first, then notifications, then (notification, channel) pairs by channel.

    read = taken + filtered + tombstones + rejected + unreadable + other; every pair is in one term. Of the missing or
    published ones `LISTED` are named.
    """

    read: int = 0
    taken: int = 0
    filtered: int = 0
    asides: Counter[str] = msgspec.field(default_factory=Counter)
    notifications: int = 0
    pairs: int = 0
    channels: dict[Channel, Counter[str]] = msgspec.field(default_factory=dict)
    found: list[Found] = msgspec.field(default_factory=list)
    seconds: float = 0.0

    def terms(self) -> Counter[str]:
        """The pairs, over all channels."""
        return sum(self.channels.values(), Counter())

    def add(self, channel: Channel, term: Term) -> None:
        """Count one pair."""
        self.pairs += 1
        self.channels.setdefault(channel, Counter())[term] += 1

    def name(self, found: Found) -> None:
        """Keep it for the list, as long as that is not full."""
        if len(self.found) < LISTED:
            self.found.append(found)

    def adds_up(self) -> bool:
        """Every record and every pair is in exactly one place."""
        return self.read == self.taken + self.filtered + self.asides.total() and self.pairs == self.terms().total()
