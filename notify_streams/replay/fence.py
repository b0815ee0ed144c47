"""Which channels of a notification have had an effect already, by the facts that the recorder keeps.

By notification and channel, never by endpoint: a user who has changed address or token since gets nothing twice.
"""

from collections.abc import Iterable, Mapping

import msgspec

from notify_streams.domain.attempts import DeliveryStatus, Flag
from notify_streams.domain.status import ChannelStatus, NotificationStatus, fold
from notify_streams.replay.account import Effect, Term
from schemas.facts import Fact
from schemas.notifications import NotificationV1
from schemas.words import Channel, State

OVERDUE_MS, GRACE_MS = 600_000, 120_000
_EFFECTS: Mapping[State, Effect] = {
    State.SENT: "sent",
    State.DELIVERED: "sent",
    State.FAILED: "failed",
    State.EXPIRED: "expired",
    State.CANCELLED: "cancelled",
    State.SUPPRESSED: "suppressed",
    State.COLLECTED: "collected",
    State.DEFERRED: "waiting",
    State.PENDING: "waiting",
}
_STRONGEST = (State.DELIVERED, State.SENT, State.PENDING, *_EFFECTS)


class Clock(msgspec.Struct, frozen=True):
    """When it is judged (ms), since when facts are kept, and whether all that is on its way has arrived."""

    now: int
    kept_since: int
    settled: bool


def judge(notification: NotificationV1, facts: Iterable[Fact], clock: Clock) -> dict[Channel, Term]:
    """What is known of each of its channels. `missing` has had no effect, is not on its way and is not too late."""
    status = fold(notification.notification_id, facts)
    known = {} if status is None else {channel.channel: channel for channel in status.channels}
    return {
        channel: _effect(known.get(channel), clock) or _without_effect(notification, status, clock)
        for channel in notification.channels
    }


def _effect(channel: ChannelStatus | None, clock: Clock) -> Effect | None:
    if channel is None:
        return None
    state, due_at = channel.state, channel.due_at
    if state is State.QUEUED:
        told = _told(channel.deliveries)
        if told is None:
            return None
        state, due_at = told.state, told.due_at
    effect = _EFFECTS[state]
    is_late = due_at is not None and due_at < clock.now - OVERDUE_MS
    return "overdue" if is_late and effect in ("waiting", "collected") else effect


def _told(deliveries: Iterable[DeliveryStatus]) -> DeliveryStatus | None:
    """Of several endpoints one of which something is known: that is the channel's effect, though another was lost."""
    told = [d for d in deliveries if d.state is not State.QUEUED and Flag.REPLACED not in d.flags]
    return min(told, key=lambda d: _STRONGEST.index(d.state), default=None)


def _without_effect(notification: NotificationV1, status: NotificationStatus | None, clock: Clock) -> Term:
    if notification.accepted_at < clock.kept_since:
        return "forgotten"
    heard_at = notification.accepted_at
    if status is not None:
        heard_at = max([heard_at, *(channel.decided_at or 0 for channel in status.channels)])
    if not clock.settled and heard_at > clock.now - GRACE_MS:
        return "under_way"
    return "late" if notification.expires_at <= clock.now else "missing"
