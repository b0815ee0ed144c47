"""How a fact is filed: under which notifications, as which kind, with which key among the facts of its kind."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar
from uuid import UUID

import msgspec

from schemas.decisions import DecisionV1
from schemas.facts import Fact, InboxFact
from schemas.outcomes import OutcomeV1
from schemas.receipts import ReceiptV1

FactT = TypeVar("FactT", bound=Fact)
Failure = OutcomeV1 | ReceiptV1
decode_failure = msgspec.json.Decoder(Failure).decode
_DECODERS: dict[str, Callable[[bytes], Fact]] = {
    "decision": msgspec.json.Decoder(DecisionV1).decode,
    "outcome": msgspec.json.Decoder(OutcomeV1).decode,
    "receipt": msgspec.json.Decoder(ReceiptV1).decode,
    "inbox": msgspec.json.Decoder(InboxFact).decode,
}


class Place(msgspec.Struct, frozen=True):
    """`at` in ms. A repeat of a fact has the same place."""

    notification_ids: Sequence[str]
    kind: str
    key: str
    at: int
    user_id: str | None = None


def place_of(fact: Fact) -> Place:
    """A digest's outcome is filed under the digest and under each member."""
    match fact:
        case DecisionV1():
            notification = fact.notification
            # What comes back in parts may be decided in one millisecond under one revision.
            part = "+".join(notification.channels) + f"@{notification.endpoint_id or ''}"
            key = f"{notification.revision:06d}/{fact.now}/{part}"
            return Place((notification.notification_id,), "decision", key, fact.now, notification.user_id)
        case OutcomeV1():
            key = f"{fact.delivery_id}/{fact.attempt:03d}/{fact.state}/{fact.at}"
            return Place((fact.notification_id, *fact.members), "outcome", key, fact.at)
        case ReceiptV1():
            # A provider that names no time of its own has that of arrival: then a copy is another row, and the fold
            # takes the earlier one.
            key = fact.receipt_id if fact.at != fact.received_at else f"{fact.receipt_id}/{fact.at}"
            return Place((fact.notification_id,), "receipt", key, fact.at)
        case InboxFact():
            return Place((fact.notification_id,), "inbox", f"{fact.delivery_id}/{fact.at}", fact.at)


def checked(fact: FactT) -> FactT:
    """The fact, if it can be filed. Raises ValueError for ids that are no UUIDs."""
    for notification_id in place_of(fact).notification_ids:
        UUID(notification_id)
    return fact


def failure_of(fact: Fact) -> Failure | None:
    """The fact, if it says that a delivery has failed: refused, given up, or taken and not delivered."""
    match fact:
        case OutcomeV1(state="failed") | ReceiptV1(state="failed" | "bounced"):
            return fact
        case _:
            return None


def digests_of(notification_id: str, facts: Iterable[Fact]) -> set[str]:
    """The digests that spoke for the notification: their receipts are its own."""
    return {fact.notification_id for fact in facts if isinstance(fact, OutcomeV1)} - {notification_id}


def fact_of(kind: str, body: bytes) -> Fact | None:
    """None for a kind that this version does not know."""
    decode = _DECODERS.get(kind)
    return None if decode is None else decode(body)
