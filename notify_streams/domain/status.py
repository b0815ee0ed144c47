"""Where a notification stands: the pure fold of its facts, whatever the order in which they came."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from notify_streams.domain.attempts import DeliveryStatus, Flag, Known, delivery_status
from notify_streams.domain.ids import delivery_id
from schemas.codec import encode
from schemas.decisions import Collect, DecisionV1, Defer, Deliver, Suppress, Verdict
from schemas.facts import Fact, InboxFact
from schemas.notifications import NotificationV1
from schemas.outcomes import OutcomeV1
from schemas.receipts import ReceiptV1
from schemas.words import CHANNELS, ENDS, FINAL, Channel, Lane, Reason, State


class ChannelStatus(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One channel. `due_at` (ms) is when it is decided or tried again, `window` the digest that it waits for."""

    channel: Channel
    state: State
    reason: Reason | None = None
    due_at: int | None = None
    window: str | None = None
    decided_at: int | None = None
    revision: int = 0
    deliveries: tuple[DeliveryStatus, ...] = ()
    flags: tuple[Flag, ...] = ()


class NotificationStatus(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """All that can be said. What only a decision knows is empty while none is recorded. Instants in ms."""

    notification_id: str
    state: State
    user_id: str = ""
    type: str = ""
    source: str = ""
    event_id: str = ""
    tenant: str = ""
    lane: Lane = "normal"
    accepted_at: int = 0
    expires_at: int = 0
    channels: tuple[ChannelStatus, ...] = ()
    flags: tuple[Flag, ...] = ()


_BEST_FIRST = (
    *(State.DELIVERED, State.SENT, State.QUEUED, State.PENDING, State.DEFERRED, State.COLLECTED),
    *(State.FAILED, State.EXPIRED, State.CANCELLED, State.SUPPRESSED, State.ACCEPTED),
)
_RANK = {state: rank for rank, state in enumerate(_BEST_FIRST)}
_DAY_MS = 24 * 3600 * 1000
_SENT = frozenset({State.SENT, State.DELIVERED})


def fold(notification_id: str, facts: Iterable[Fact]) -> NotificationStatus | None:
    """The status; None when nothing is known. Repeats and order of the facts do not matter."""
    decisions, outcomes = _sorted_out(facts)
    if not decisions and not outcomes:
        return None
    decided = {verdict.channel for decision in decisions for verdict in decision.verdicts}
    met = decided | {_channel_of(outcome) for outcome in outcomes}
    channels = tuple(
        _channel(
            notification_id, channel, _verdict(channel, decisions), [o for o in outcomes if _channel_of(o) == channel]
        )
        for channel in CHANNELS
        if channel in met
    )
    flags = {flag for channel in channels for flag in channel.flags}
    if not decisions:
        flags.add(Flag.UNDECIDED)
    if any(_is_off(decision.notification) for decision in decisions):
        flags.add(Flag.EVENT_TIME_OFF)
    if _differ([d for channel in channels for d in channel.deliveries if Flag.REPLACED not in d.flags]):
        flags.add(Flag.PARTIALLY_SENT)
    return NotificationStatus(
        notification_id=notification_id,
        state=min((channel.state for channel in channels), key=_RANK.__getitem__, default=State.ACCEPTED),
        channels=channels,
        flags=tuple(sorted(flags)),
        **_described(decisions, outcomes),
    )


def is_final(status: NotificationStatus) -> bool:
    """Nothing more will happen to it by itself."""
    return Flag.UNDECIDED not in status.flags and all(
        channel.state in FINAL and all(d.state in FINAL for d in _counted(channel)) for channel in status.channels
    )


def is_settled(status: NotificationStatus, *, overdue_before: int = 0) -> bool:
    """Every channel and endpoint is final, or waits for something known that is not due before `overdue_before` (ms).

    What is queued is not settled: nobody has said a word about it since it was decided.
    """
    return Flag.UNDECIDED not in status.flags and all(
        _accounted(channel.state, channel.due_at, overdue_before)
        and all(_accounted(d.state, d.due_at, overdue_before) for d in _counted(channel))
        for channel in status.channels
    )


def _accounted(state: State, due_at: int | None, overdue_before: int) -> bool:
    if state in FINAL or state is State.COLLECTED:
        return True
    return due_at is not None and due_at >= overdue_before


def _counted(channel: ChannelStatus) -> list[DeliveryStatus]:
    return [d for d in channel.deliveries if Flag.REPLACED not in d.flags]


def _sorted_out(facts: Iterable[Fact]) -> tuple[list[DecisionV1], list[Known]]:
    """Decisions, latest last, and the rest."""
    decisions: list[DecisionV1] = []
    outcomes: list[Known] = []
    for fact in facts:
        if isinstance(fact, DecisionV1):
            decisions.append(fact)
        else:
            outcomes.append(fact)
    decisions.sort(key=lambda d: (d.notification.revision, d.now, d.profile.version, encode(d)))
    return decisions, outcomes


def _channel_of(outcome: Known) -> Channel:
    return "inapp" if isinstance(outcome, InboxFact) else outcome.channel


def _verdict(channel: Channel, decisions: Sequence[DecisionV1]) -> tuple[DecisionV1, Verdict] | None:
    """The latest word on the channel. That it was left out of a later decision says nothing of an earlier one."""
    said = [(d, verdict) for d in decisions for verdict in d.verdicts if verdict.channel == channel]
    telling = [(d, v) for d, v in said if not (isinstance(v, Suppress) and v.reason is Reason.CHANNEL_EXCLUDED)]
    candidates = telling or said
    return candidates[-1] if candidates else None


def _channel(
    notification_id: str,
    channel: Channel,
    decided: tuple[DecisionV1, Verdict] | None,
    outcomes: Sequence[Known],
) -> ChannelStatus:
    decision, verdict = decided or (None, None)
    deliveries = _deliveries(notification_id, channel, verdict, outcomes)
    decided_at = decision.now if decision else 0
    counted = [d for d in deliveries if Flag.REPLACED not in d.flags and _outlives(d, verdict, decided_at)]
    flags = {flag for d in deliveries for flag in d.flags if flag is not Flag.REPLACED}
    if _differ(counted):
        flags.add(Flag.PARTIALLY_SENT)
    best = min(counted, key=lambda d: (_RANK[d.state], d.at or 0, d.delivery_id), default=None)
    if best is not None and best.state in _SENT and isinstance(verdict, Suppress):
        flags.add(Flag.TOO_LATE_TO_STOP)
    state, reason, due_at = (best.state, best.reason, best.due_at) if best else _as_decided(verdict)
    return ChannelStatus(
        channel=channel,
        state=state,
        reason=reason,
        due_at=due_at,
        window=verdict.window if isinstance(verdict, Collect) else None,
        decided_at=decision.now if decision else None,
        revision=decision.notification.revision if decision else 0,
        deliveries=deliveries,
        flags=tuple(sorted(flags)),
    )


def _deliveries(
    notification_id: str, channel: Channel, verdict: Verdict | None, outcomes: Sequence[Known]
) -> tuple[DeliveryStatus, ...]:
    """Those decided, and those that something is known of all the same."""
    endpoints = dict.fromkeys((o.delivery_id for o in outcomes), "")
    endpoints |= {o.delivery_id: "inbox" for o in outcomes if isinstance(o, InboxFact)}
    endpoints |= {o.delivery_id: o.endpoint_id for o in outcomes if isinstance(o, OutcomeV1)}
    wanted: set[str] = set()
    if isinstance(verdict, Deliver):
        named = {delivery_id(notification_id, channel, endpoint): endpoint for endpoint in verdict.endpoint_ids}
        wanted, endpoints = set(named), {**endpoints, **named}
    found = []
    for id_, endpoint in sorted(endpoints.items(), key=lambda pair: (pair[1], pair[0])):
        facts = [o for o in outcomes if o.delivery_id == id_]
        delivery = delivery_status(id_, channel, endpoint, facts, of=notification_id)
        if not (verdict is None or id_ in wanted or delivery.state in FINAL or delivery.digest_id):
            delivery = msgspec.structs.replace(delivery, flags=(*delivery.flags, Flag.REPLACED))
        found.append(delivery)
    return tuple(found)


def _outlives(delivery: DeliveryStatus, verdict: Verdict | None, decided_at: int) -> bool:
    """Whether it still counts under the verdict: an end that came before a deferral was not the last word."""
    if isinstance(verdict, Defer | Collect):
        return delivery.state in _SENT or (delivery.at or 0) >= decided_at
    return True


def _is_off(notification: NotificationV1) -> bool:
    """Whether its producer names another day than the one on which the broker took its event."""
    return notification.event_time is not None and abs(notification.event_time - notification.accepted_at) > _DAY_MS


def _as_decided(verdict: Verdict | None) -> tuple[State, Reason | None, int | None]:
    match verdict:
        case Defer():
            return State.DEFERRED, verdict.reason, verdict.until
        case Collect():
            return State.COLLECTED, verdict.reason, verdict.until
        case Suppress():
            return State(ENDS.get(verdict.reason, "suppressed")), verdict.reason, None
        case _:
            return State.QUEUED, None, None


def _differ(deliveries: Sequence[DeliveryStatus]) -> bool:
    sent = sum(d.state in _SENT for d in deliveries)
    return 0 < sent < len(deliveries)


def _described(decisions: Sequence[DecisionV1], outcomes: Sequence[Known]) -> dict[str, Any]:
    if decisions:
        n = decisions[0].notification
        names = ("user_id", "type", "source", "event_id", "tenant", "lane", "accepted_at", "expires_at")
        return {name: getattr(n, name) for name in names}
    own = sorted((o for o in outcomes if isinstance(o, OutcomeV1)), key=encode)
    if not own:
        return {"user_id": min((o.user_id for o in outcomes if isinstance(o, ReceiptV1)), default="")}
    return {name: getattr(own[0], name) for name in ("user_id", "type", "tenant", "lane", "accepted_at")}
