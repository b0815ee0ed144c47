"""Producers that want to hear of their notifications, and what they hear of."""

from typing import Any

import msgspec

from notify_streams.domain.hooks import Hook
from schemas.receipts import ReceiptState, ReceiptV1
from schemas.words import Channel
from tests.builders import NOW, a_delivery, an_outcome

SHOP = Hook("shop", "https://shop.example/hooks", ("/shop/*",))
BANK = Hook("bank", "https://bank.example/hooks", ("/bank/*", "/keys/bank"))
EVERYBODY = Hook("all", "https://all.example/hooks", ("*",))


def an_outcome_of(source: str = "/shop/orders", **changes: Any) -> Any:
    return msgspec.structs.replace(an_outcome(), source=source, **changes)


def a_receipt(state: ReceiptState = "delivered", channel: Channel = "sms") -> ReceiptV1:
    of = a_delivery(channel=channel)
    return ReceiptV1(
        receipt_id="SM1/" + state,
        delivery_id=of.delivery_id,
        notification_id=of.notification_id,
        user_id=of.user_id,
        channel=channel,
        provider="twilio",
        state=state,
        at=NOW + 9000,
        received_at=NOW + 9100,
    )
