"""What producers are told of their notifications: final and changed states, as webhooks to the keys that ask for them.

Such a webhook is a delivery of its own kind (`DeliveryV1.hook`): of nobody's notification, so that no outcome is
published of it, and no webhook about it. Ids, channel, state and reason; never an address, never a text.
"""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Literal

import msgspec

from notify_streams.domain.ids import hook_id
from schemas.content import Content
from schemas.decisions import DecisionV1, Suppress
from schemas.deliveries import DeliveryV1
from schemas.outcomes import InboxOutcomesV1, OutcomeV1
from schemas.receipts import ReceiptV1
from schemas.words import ENDS, Channel, Reason

KEPT_MS = 72 * 3_600_000  # how long a producer's server may be away
EVENT = "notification."
PLACE = "hook/"  # begins no endpoint's id of a user: these have no slash
State = Literal["sent", "delivered", "failed", "suppressed", "expired", "cancelled"]
_FINAL: dict[str, State] = {
    "sent": "sent",
    "failed": "failed",
    "suppressed": "suppressed",
    "expired": "expired",
    "cancelled": "cancelled",
}
_LATER: dict[str, tuple[State, str]] = {
    "delivered": ("delivered", ""),
    "bounced": ("failed", Reason.BOUNCED.value),
    "failed": ("failed", Reason.UNDELIVERED.value),
}
# Of a channel that was never asked for, or that another one stands in for: nothing has ended there.
_NO_END = frozenset({Reason.CHANNEL_NOT_OFFERED, Reason.CHANNEL_EXCLUDED, Reason.FALLBACK})


class Hook(msgspec.Struct, frozen=True):
    """A key that wants to hear. `sources` are globs of the sources that are its own; `name` is the key's."""

    name: str
    url: str
    sources: tuple[str, ...]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One state of one channel. `about` is the delivery's id; of a channel that got none, the channel itself."""

    state: State
    at: int
    notification_id: str
    user_id: str
    channel: Channel
    about: str
    source: str = ""
    type: str = ""
    tenant: str = ""
    reason: str = ""


def of_outcome(outcome: OutcomeV1) -> Iterable[Change]:
    """Where an attempt, or none, was the last one. A digest's is about many, and told of none of them."""
    state = _FINAL.get(outcome.state)
    if state is not None and not outcome.members and not outcome.endpoint_id.startswith(PLACE):
        yield Change(
            state=state,
            at=outcome.at,
            notification_id=outcome.notification_id,
            user_id=outcome.user_id,
            channel=outcome.channel,
            about=outcome.delivery_id,
            source=outcome.source,
            type=outcome.type,
            tenant=outcome.tenant,
            reason=outcome.reason.value if outcome.reason is not None else "",
        )


def of_inbox(outcomes: InboxOutcomesV1) -> Iterable[Change]:
    """Each item that is in its inbox now."""
    for write in outcomes.written:
        yield Change(
            state="sent",
            at=outcomes.at,
            notification_id=write.notification_id,
            user_id=write.user_id,
            channel="inapp",
            about=write.delivery_id,
            source=write.source,
        )


def of_decision(decision: DecisionV1) -> Iterable[Change]:
    """Each channel that ends without a delivery."""
    notification = decision.notification
    for verdict in decision.verdicts:
        if isinstance(verdict, Suppress) and verdict.reason not in _NO_END:
            yield Change(
                state=ENDS.get(verdict.reason, "suppressed"),
                at=decision.now,
                notification_id=notification.notification_id,
                user_id=notification.user_id,
                channel=verdict.channel,
                about=verdict.channel,
                source=notification.source,
                type=notification.type,
                tenant=notification.tenant,
                reason=verdict.reason.value,
            )


def of_receipt(receipt: ReceiptV1, source: str) -> Iterable[Change]:
    """What a provider says later; `source` is that of the delivery's notification. "Sent" was told before."""
    later = _LATER.get(receipt.state)
    if later is not None:
        state, reason = later
        yield Change(
            state=state,
            at=receipt.at,
            notification_id=receipt.notification_id,
            user_id=receipt.user_id,
            channel=receipt.channel,
            about=receipt.delivery_id,
            source=source,
            reason=reason,
        )


def wanted(source: str, hooks: Iterable[Hook]) -> list[Hook]:
    """Those whose key may name the source."""
    return [hook for hook in hooks if source and any(fnmatchcase(source, glob) for glob in hook.sources)]


def deliveries(changes: Iterable[Change], hooks: Sequence[Hook], now: int) -> list[DeliveryV1]:
    """One webhook for each change and each key that is concerned; the same ids however often they are made.

    What is older than a producer's server may be away is past. `now` in ms.
    """
    return [
        _delivery(change, hook)
        for change in changes
        if change.at + KEPT_MS > now
        for hook in wanted(change.source, hooks)
    ]


def _delivery(change: Change, hook: Hook) -> DeliveryV1:
    return DeliveryV1(
        delivery_id=hook_id(hook.name, change.notification_id, change.about, change.state),
        notification_id=change.notification_id,
        user_id=change.user_id,
        type=EVENT + change.state,
        channel="webhook",
        endpoint_id=PLACE + hook.name,
        accepted_at=change.at,
        expires_at=change.at + KEPT_MS,
        decided_at=change.at,
        lane="low",
        source=change.source,
        tenant=change.tenant,
        hook=hook.name,
        content=Content(payload=msgspec.Raw(msgspec.json.encode(_told(change))), address=hook.url),
    )


def _told(change: Change) -> dict[str, str]:
    told = {
        "notification_id": change.notification_id,
        "delivery_id": change.about if change.about != change.channel else "",
        "user_id": change.user_id,
        "channel": change.channel,
        "type": change.type,
        "source": change.source,
        "state": change.state,
        "reason": change.reason,
    }
    return {name: value for name, value in told.items() if value}
