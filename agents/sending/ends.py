"""What follows when a job is over: values only."""

import msgspec

from agents.sending.jobs import AddressWord, End
from notify_streams.domain import outcomes
from notify_streams.domain.addresses import address_key
from notify_streams.domain.send_back import fall_back, send_back
from schemas.addresses import AddressGoneV1, SuppressAddressV1
from schemas.deliveries import DeliveryV1
from schemas.outcomes import OutcomeV1
from schemas.words import Reason

_DEAD = frozenset({Reason.ATTEMPTS_EXHAUSTED, Reason.TEMPLATE_FAILED})


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """How to read an outcome. `counts`: the attempt counts against the limit. `since` (ms) an address has been gone,
    where the provider says so. `keeps`: no address is removed for now. `rests_ms`: how long a full mailbox rests.
    `is_repeated`: it was said before.
    """

    rests_ms: int
    counts: bool = True
    since: int | None = None
    keeps: bool = False
    is_repeated: bool = False


def decided_again(delivery: DeliveryV1) -> End:
    """What it was decided on holds no more."""
    return End(back=send_back(delivery))


def put_off(delivery: DeliveryV1, due_at: int, now: int, reason: Reason) -> End:
    """It comes back as it is at `due_at` (ms): no attempt was made."""
    return End(
        outcome=outcomes.held(delivery, due_at, now, reason),
        timer=outcomes.postponed(delivery, due_at),
    )


def of(delivery: DeliveryV1, outcome: OutcomeV1, said: Said) -> End:
    """An outcome and its consequences. A producer's own webhook has none but its retries."""
    word = None if said.keeps or delivery.hook else _word(delivery, outcome, said)
    stands_in = outcome.state == "failed" and delivery.fallback and not delivery.hook
    return End(
        outcome=outcome,
        timer=outcomes.next_attempt(outcome, delivery, counts=said.counts),
        back=fall_back(delivery) if stands_in else None,
        word=word,
        address_key="" if word is None else address_key(delivery.channel, _address(delivery)),
        is_dead=outcome.reason in _DEAD,
        is_repeated=said.is_repeated,
    )


def _word(delivery: DeliveryV1, outcome: OutcomeV1, said: Said) -> AddressWord | None:
    """About the address; nothing where the delivery has none."""
    if outcome.state != "failed" or not _address(delivery):
        return None
    if outcome.reason is Reason.ENDPOINT_GONE:
        return AddressGoneV1(
            channel=delivery.channel,
            at=outcome.at,
            by=f"provider/{outcome.provider}",
            since=said.since,
            provider=outcome.provider,
            delivery_id=delivery.delivery_id,
        )
    if outcome.reason is Reason.MAILBOX_FULL or outcome.reason is Reason.RECIPIENT_OPTED_OUT:
        is_full = outcome.reason is Reason.MAILBOX_FULL
        return SuppressAddressV1(
            channel=delivery.channel,
            at=outcome.at,
            by=f"provider/{outcome.provider}",
            reason="mailbox_full" if is_full else "opt_out",
            until=outcome.at + said.rests_ms if is_full else None,
            provider=outcome.provider,
            delivery_id=delivery.delivery_id,
        )
    return None


def _address(delivery: DeliveryV1) -> str:
    return "" if delivery.content is None else delivery.content.address or ""
