"""Facts and notifications that are valid by default."""

from typing import Any
from uuid import uuid4

import msgspec

from notify_streams.domain.ids import delivery_id
from schemas.content import Content
from schemas.decisions import DecisionV1, Deliver, ProfileSlice, StateSlice, Verdict
from schemas.facts import InboxFact
from schemas.notifications import NotificationV1
from schemas.outcomes import OutcomeState, OutcomeV1
from schemas.receipts import ReceiptState, ReceiptV1
from schemas.words import Channel

NOON = 1_790_000_000_000
A_NOTIFICATION = "0c8f4a5e-2b1d-5a3c-9f00-aa11bb22cc33"


def an_id() -> str:
    return str(uuid4())


def a_notification(notification_id: str = A_NOTIFICATION, **fields: Any) -> NotificationV1:
    given: dict[str, Any] = {
        "user_id": "user-42",
        "type": "order.confirmed",
        "source": "/shop/orders",
        "event_id": "order-123-confirmed",
        "accepted_at": NOON,
        "expires_at": NOON + 3_600_000,
        "channels": ("inapp", "email"),
        "content": Content(payload=msgspec.Raw(b'{"order":"123"}')),
    }
    return NotificationV1(notification_id=notification_id, **{**given, **fields})


def a_decision(*verdicts: Verdict, now: int = NOON + 100, profile_version: int = 7, **fields: Any) -> DecisionV1:
    return DecisionV1(
        notification=a_notification(**fields),
        profile=ProfileSlice(version=profile_version),
        state=StateSlice(),
        now=now,
        catalogue="hash-of-the-catalogue",
        tzdata="2026.6",
        verdicts=verdicts or (Deliver(channel="inapp", endpoint_ids=("inbox",)), to_mail("home")),
    )


def to_mail(*endpoint_ids: str) -> Deliver:
    return Deliver(channel="email", endpoint_ids=endpoint_ids)


def an_outcome(
    state: OutcomeState = "sent",
    *,
    notification_id: str = A_NOTIFICATION,
    channel: Channel = "email",
    endpoint_id: str = "home",
    attempt: int = 1,
    at: int = NOON + 1000,
    **fields: Any,
) -> OutcomeV1:
    given: dict[str, Any] = {"user_id": "user-42", "type": "order.confirmed", "provider": "smtp"}
    return OutcomeV1(
        delivery_id=delivery_id(notification_id, channel, endpoint_id),
        notification_id=notification_id,
        channel=channel,
        endpoint_id=endpoint_id,
        state=state,
        attempt=attempt,
        at=at,
        **{**given, **fields},
    )


def an_inbox_fact(notification_id: str = A_NOTIFICATION, *, sequence: int = 17, at: int = NOON + 200) -> InboxFact:
    return InboxFact(
        notification_id=notification_id,
        delivery_id=delivery_id(notification_id, "inapp", "inbox"),
        sequence=sequence,
        at=at,
    )


def a_receipt(
    state: ReceiptState = "delivered",
    *,
    notification_id: str = A_NOTIFICATION,
    channel: Channel = "email",
    endpoint_id: str = "home",
    at: int = NOON + 2000,
    **fields: Any,
) -> ReceiptV1:
    """What a provider says later of that outcome's delivery; its id follows from what it says."""
    given: dict[str, Any] = {"user_id": "user-42", "provider": "ses", "received_at": at + 300}
    delivery = fields.pop("delivery_id", delivery_id(notification_id, channel, endpoint_id))
    given["receipt_id"] = f"{delivery[:8]}-{state}-{at}-{fields.get('provider_message_id', '')}"
    return ReceiptV1(
        delivery_id=delivery,
        notification_id=notification_id,
        channel=channel,
        state=state,
        at=at,
        **{**given, **fields},
    )
