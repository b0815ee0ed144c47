"""From an answer, or from a reason not to ask, to the outcome that is published."""

import msgspec

from notify_streams.domain.answers import Answer, Misconfigured, Sent, Unknown
from notify_streams.domain.retry import Exhausted, Expire, Fail, FailOver, Finish, NextStep, RetryAt, SettleAt
from schemas.codec import encode
from schemas.deliveries import DeliveryV1
from schemas.outcomes import OutcomeState, OutcomeV1
from schemas.timers import PutTimerV1
from schemas.words import ENDS, Reason


def not_tried(delivery: DeliveryV1, reason: Reason, detail: str, now: int) -> OutcomeV1:
    """Ended without a call to a provider; for a reason that has no state of its own it counts as suppressed."""
    return _outcome(delivery, state=ENDS.get(reason, "suppressed"), at=now, attempt=0, reason=reason, detail=detail)


def held(delivery: DeliveryV1, due_at: int, now: int, reason: Reason = Reason.HELD) -> OutcomeV1:
    """Put off until `due_at` (ms) before its attempt was made: said, or nobody could tell it from a lost one."""
    attempt = delivery.attempt - 1
    return _outcome(delivery, state="retrying", at=now, attempt=attempt, reason=reason, next_at=due_at)


def settled(delivery: DeliveryV1, provider: str, message_id: str | None, attempt: int, at: int) -> OutcomeV1:
    """A receipt has said that an attempt of which nobody knew had arrived, at `at` (ms)."""
    return _outcome(
        delivery,
        state="sent",
        at=at,
        attempt=attempt or delivery.attempt,
        provider=provider,
        provider_message_id=message_id,
        reason=Reason.SETTLED,
    )


def of_answer(delivery: DeliveryV1, answer: Answer, step: NextStep, provider: str, now: int) -> OutcomeV1:
    """What attempt `delivery.attempt` led to."""
    detail = answer.detail
    message_id = _encodable(answer.message_id) if isinstance(answer, Sent) and answer.message_id else None
    state, reason, next_at = _meaning(step, answer, now)
    return _outcome(
        delivery,
        state=state,
        at=now,
        attempt=delivery.attempt,
        provider=provider,
        provider_message_id=message_id,
        reason=reason,
        detail=detail,
        next_at=next_at,
        segments=answer.segments if isinstance(answer, Sent) else 0,
    )


def next_attempt(outcome: OutcomeV1, delivery: DeliveryV1, *, counts: bool = True) -> PutTimerV1 | None:
    """The timer that brings the delivery back for its next attempt, where there is to be one.

    `counts`: this one counts against the limit; a failover and one that was refused for our credentials never do.
    """
    if outcome.next_at is None:
        return None
    counts = counts and outcome.reason not in (Reason.FAILED_OVER, Reason.MISCONFIGURED)
    again = msgspec.structs.replace(
        delivery,
        attempt=outcome.attempt + 1,
        uncounted=delivery.uncounted + (not counts),
        avoid=(*delivery.avoid, outcome.provider) if outcome.reason is Reason.FAILED_OVER else (),
        by=outcome.provider if outcome.reason is Reason.UNKNOWN_OUTCOME else delivery.by,
    )
    return postponed(again, outcome.next_at)


def is_in_doubt(outcome: OutcomeV1) -> bool:
    """Whether it is to be tried again though the provider may have taken it: a receipt can still tell."""
    return outcome.reason is Reason.UNKNOWN_OUTCOME and outcome.next_at is not None


def postponed(delivery: DeliveryV1, due_at: int) -> PutTimerV1:
    """A timer that brings the delivery back as it is: no attempt is counted."""
    again = msgspec.structs.replace(delivery, due_at=due_at)
    return PutTimerV1(
        timer_id=timer_id(delivery),
        due_at=due_at,
        revision=delivery.attempt,
        target=f"deliveries.{delivery.channel}.{delivery.lane}",
        payload=msgspec.Raw(encode(again)),
        lane=delivery.lane,
    )


def timer_id(delivery: DeliveryV1) -> str:
    """One per delivery: a later attempt replaces an earlier one's timer."""
    return f"retry/{delivery.delivery_id}"


def _meaning(step: NextStep, answer: Answer, now: int) -> tuple[OutcomeState, Reason | None, int | None]:
    match step:
        case Finish():
            return "sent", None, None
        case Fail(reason):
            return "failed", reason, None
        case Exhausted():
            return "failed", Reason.ATTEMPTS_EXHAUSTED, None
        case Expire():
            return "expired", Reason.EXPIRED, None
        case FailOver():
            return "retrying", Reason.FAILED_OVER, now
        case RetryAt(due_at):
            return "retrying", _why(answer), due_at
        case SettleAt(due_at):
            return "unknown", Reason.UNKNOWN_OUTCOME, due_at


def _why(answer: Answer) -> Reason:
    """Why it is tried again. One that may have been taken stays with its provider: the reason says so."""
    match answer:
        case Misconfigured():
            return Reason.MISCONFIGURED
        case Unknown():
            return Reason.UNKNOWN_OUTCOME
        case _:
            return Reason.PROVIDER_UNAVAILABLE


def _outcome(
    delivery: DeliveryV1,
    *,
    state: OutcomeState,
    at: int,
    attempt: int,
    provider: str = "",
    provider_message_id: str | None = None,
    reason: Reason | None = None,
    detail: str = "",
    next_at: int | None = None,
    segments: int = 0,
) -> OutcomeV1:
    return OutcomeV1(
        delivery_id=delivery.delivery_id,
        notification_id=delivery.notification_id,
        user_id=delivery.user_id,
        type=delivery.type,
        channel=delivery.channel,
        endpoint_id=delivery.endpoint_id,
        state=state,
        at=at,
        attempt=attempt,
        lane=delivery.lane,
        provider=provider,
        provider_message_id=provider_message_id,
        reason=reason,
        detail=_encodable(detail)[:500],
        next_at=next_at,
        accepted_at=delivery.accepted_at,
        source=delivery.source,
        segments=segments,
        tenant=delivery.tenant,
        broadcast_id=delivery.broadcast_id,
        replay=delivery.replay,
        members=delivery.members,
        traceparent=delivery.traceparent,
    )


def _encodable(text: str) -> str:
    """Headers of HTTP may come with bytes of any kind: what no record can hold must not cost what was sent its end."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
