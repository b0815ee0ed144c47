"""What the sources say of one run, and the terms that states count as."""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from notify_streams.domain.status import NotificationStatus
from schemas.words import Channel, State

from .inputs import Identity
from .messages import Entry

TERMS = ("sent", "failed", "expired", "suppressed", "cancelled", "collected", "pending")
TERM_OF: Mapping[State, str] = {
    State.SENT: "sent",
    State.DELIVERED: "sent",
    State.FAILED: "failed",
    State.EXPIRED: "expired",
    State.SUPPRESSED: "suppressed",
    State.CANCELLED: "cancelled",
    State.COLLECTED: "collected",
    State.DEFERRED: "pending",
    State.PENDING: "pending",
}


class Timer(msgspec.Struct, frozen=True, kw_only=True):
    """One that waits in the scheduler's table, for one or more channels of a notification. `due_at` in ms."""

    timer_id: str
    notification_id: str
    channels: tuple[Channel, ...]
    due_at: int


class Letter(msgspec.Struct, frozen=True, kw_only=True):
    """A dead letter: `place` is where the record came from."""

    stage: str
    place: str
    error_class: str
    reason: str
    notification_id: str | None = None


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What the sources say of one run.

    `rows`: how many inbox rows a notification has, `sequences` how many different ones all rows have; `mails`: delivery
    ids; `entries`: what providers met of ours, and `posted` what they posted later; `told`: what the shop was told, by
    id, `to_tell` what it has to hear.
    """

    acknowledged: int
    answers: Counter[int]
    replayed: int
    on_topics: int
    unaccounted: int
    tombstones: int
    dropped: int
    identities: frozenset[Identity]
    statuses: Sequence[NotificationStatus]
    mails: Sequence[str]
    rows: Counter[str]
    others_rows: int
    sequences: int
    timers: Sequence[Timer]
    letters: Sequence[Letter]
    entries: Sequence[Entry] = ()
    posted: Mapping[str, int] = {}
    told: frozenset[str] = frozenset()
    to_tell: frozenset[str] = frozenset()

    @property
    def refused(self) -> int:
        """Answers 4xx."""
        return sum(n for status, n in self.answers.items() if 400 <= status < 500)
