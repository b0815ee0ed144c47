"""What the outcomes and receipts of one delivery add up to, in whatever order they are met."""

from collections.abc import Iterable, Sequence
from enum import StrEnum

import msgspec

from notify_streams.domain import receipts
from notify_streams.domain.receipts import Copy, Receipt
from schemas.facts import InboxFact
from schemas.outcomes import OutcomeState, OutcomeV1
from schemas.receipts import ReceiptV1
from schemas.words import Channel, Reason, State

INBOX_PROVIDER = "inbox"


class Flag(StrEnum):
    """What is odd about a status and worth counting."""

    PARTIALLY_SENT = "partially_sent"  # some of its deliveries were sent, others not
    SENT_TWICE = "sent_twice"
    REFUSED_TRANSITION = "refused_transition"  # a fact that contradicts the state; it is kept and changes nothing
    TOO_LATE_TO_STOP = "too_late_to_stop"  # sent, though it was decided meanwhile not to send it
    PERHAPS_SENT = "perhaps_sent"  # ended otherwise, after an attempt of which nobody knows whether it arrived
    COMPLAINED = "complained"  # the recipient reported it as unwanted
    REPLACED = "replaced"  # a later decision no longer names this endpoint
    EVENT_TIME_OFF = "event_time_off"  # the producer's time is more than a day from the broker's; it decided nothing
    UNDECIDED = "undecided"  # there are outcomes, but the decision is not recorded (yet)


class Attempt(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One outcome, or the write of an inbox item under `sequence`. Instants in ms."""

    attempt: int
    at: int
    state: OutcomeState
    provider: str = ""
    provider_message_id: str | None = None
    reason: Reason | None = None
    detail: str = ""
    next_at: int | None = None
    sequence: int | None = None


class DeliveryStatus(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One endpoint. `due_at` is when the next attempt is due; `digest_id` names the digest that spoke for this.

    `delivered_at` and `read_at` are the provider's own times (ms), where it says so.
    """

    delivery_id: str
    channel: Channel
    endpoint_id: str
    state: State
    reason: Reason | None = None
    at: int | None = None
    due_at: int | None = None
    digest_id: str | None = None
    attempts: tuple[Attempt, ...] = ()
    flags: tuple[Flag, ...] = ()
    delivered_at: int | None = None
    read_at: int | None = None
    receipts: tuple[Receipt, ...] = ()


Known = OutcomeV1 | InboxFact | ReceiptV1
_PENDING = frozenset({"retrying", "unknown"})


def delivery_status(
    delivery_id: str, channel: Channel, endpoint_id: str, facts: Iterable[Known], *, of: str
) -> DeliveryStatus:
    """The status of a delivery of the notification `of`; queued when there are no facts.

    The attempt's number decides before the clock. What was sent stays sent, unless a receipt says more. The first end
    stands, unless a later attempt opens it again (a redrive).
    """
    facts = list(facts)
    attempts, heard = _attempts(facts), receipts.once(f for f in facts if isinstance(f, ReceiptV1))
    status = DeliveryStatus(
        delivery_id=delivery_id,
        channel=channel,
        endpoint_id=endpoint_id,
        state=State.QUEUED,
        digest_id=min({f.notification_id for f in facts} - {of}, default=None),
        attempts=attempts,
        receipts=heard,
    )
    stands, flags = _standing(_ranked(attempts)) if attempts else (None, set[Flag]())
    if stands is not None:
        status = _attempted(status, stands)
        if _ended_otherwise(stands) and _unknown(attempts) and not heard:
            flags.add(Flag.PERHAPS_SENT)
    if heard:
        status = _heard(status, stands, flags)
    return msgspec.structs.replace(status, flags=tuple(sorted(flags)))


def _attempted(status: DeliveryStatus, stands: Attempt) -> DeliveryStatus:
    unknown = Reason.UNKNOWN_OUTCOME if stands.state == "unknown" else None
    return msgspec.structs.replace(
        status,
        state=State.PENDING if stands.state in _PENDING else State(stands.state),
        reason=stands.reason or unknown,
        at=stands.at,
        due_at=stands.next_at,
    )


def _heard(status: DeliveryStatus, stands: Attempt | None, flags: set[Flag]) -> DeliveryStatus:
    """With what the provider said later; adds to the flags."""
    word = receipts.weigh(status.channel, status.receipts, _copy(status.attempts, stands))
    if word.refused:
        flags.add(Flag.REFUSED_TRANSITION)
    if any(r.state == "complained" for r in status.receipts):
        flags.add(Flag.COMPLAINED)
    status = msgspec.structs.replace(
        status, delivered_at=receipts.delivered_at(status.receipts), read_at=receipts.read_at(status.receipts)
    )
    if word.state is None:
        return status
    return msgspec.structs.replace(status, state=word.state, reason=word.reason, at=word.at, due_at=None)


def _copy(attempts: Sequence[Attempt], stands: Attempt | None) -> Copy:
    """By the last message that was sent; before one was, by how the attempts stand."""
    if stands is None:
        return Copy()
    sent = [(rank, attempt) for rank, attempt in _ranked(tuple(attempts)) if attempt.state == "sent"]
    last = sent[-1][1] if sent else stands
    return Copy(stands.state, last.provider, last.provider_message_id, _unknown(attempts))


def _ended_otherwise(attempt: Attempt) -> bool:
    return attempt.state not in _PENDING and attempt.state != "sent"


def _unknown(attempts: Iterable[Attempt]) -> bool:
    return any(a.state == "unknown" or a.reason is Reason.UNKNOWN_OUTCOME for a in attempts)


def _attempts(facts: Sequence[Known]) -> tuple[Attempt, ...]:
    """Each once, by time. An inbox item that was written again is the first write of its sequence."""
    made, written = set(), dict[int, int]()
    for fact in facts:
        match fact:
            case OutcomeV1():
                made.add(
                    Attempt(
                        attempt=fact.attempt,
                        at=fact.at,
                        state=fact.state,
                        provider=fact.provider,
                        provider_message_id=fact.provider_message_id,
                        reason=fact.reason,
                        detail=fact.detail,
                        next_at=fact.next_at,
                    )
                )
            case InboxFact():
                written[fact.sequence] = min(fact.at, written.get(fact.sequence, fact.at))
    made |= {
        Attempt(attempt=1, at=at, state="sent", provider=INBOX_PROVIDER, sequence=sequence)
        for sequence, at in written.items()
    }
    return tuple(sorted(made, key=_by_time))


def _by_time(attempt: Attempt) -> tuple[object, ...]:
    return (
        attempt.at,
        attempt.attempt,
        *("" if value is None else str(value) for value in msgspec.structs.astuple(attempt)),
    )


def _ranked(attempts: tuple[Attempt, ...]) -> list[tuple[int, Attempt]]:
    """By attempt, then time. What ended without a call (0) counts as the last word until then."""
    ranks = [(_rank(a), a) for a in attempts]
    known = [(rank if a.attempt or rank else _last(ranks, a.at), a) for rank, a in ranks]
    return sorted(known, key=lambda ranked: (ranked[0], *_by_time(ranked[1])))


def _rank(attempt: Attempt) -> int:
    """What was held stands between the attempt before and the one that it holds."""
    return 2 * attempt.attempt + (attempt.reason is Reason.HELD)


def _last(ranks: list[tuple[int, Attempt]], at: int) -> int:
    return max((rank for rank, attempt in ranks if attempt.at <= at), default=0)


def _standing(ranked: list[tuple[int, Attempt]]) -> tuple[Attempt, set[Flag]]:
    """The attempt that says how the delivery stands."""
    flags: set[Flag] = set()
    at_rank, stands = ranked[0]
    for rank, attempt in ranked[1:]:
        pending = attempt.state in _PENDING
        if stands.state == "sent":
            if attempt.state == "sent":
                flags.add(Flag.SENT_TWICE)
            elif not pending or rank > at_rank:
                flags.add(Flag.REFUSED_TRANSITION)
            continue
        if attempt.state == "sent":
            if stands.state not in _PENDING and stands.at >= attempt.at:
                flags.add(Flag.REFUSED_TRANSITION)
        elif stands.state not in _PENDING and not (pending and rank > at_rank):
            if attempt.state != stands.state:
                flags.add(Flag.REFUSED_TRANSITION)
            continue
        at_rank, stands = rank, attempt
    return stands, flags
