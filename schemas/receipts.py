"""A provider's later word on a delivery, and what recipients send back."""

from typing import Literal

import msgspec

from schemas.words import Channel, Millis

ReceiptState = Literal["queued", "sent", "delayed", "delivered", "read", "bounced", "failed", "complained"]


class ReceiptV1(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="receipt.v1", tag_field="schema"):
    """Published on `notify.receipts`, keyed by user id. Instants are ms since the epoch, UTC.

    `receipt_id` is the same for every copy of the provider's event. `at` is the provider's own time of it,
    `received_at` ours. `permanent` of a bounce: the address is no good. `detail` is a code, never an address.
    """

    receipt_id: str
    delivery_id: str
    notification_id: str
    user_id: str
    channel: Channel
    provider: str
    state: ReceiptState
    at: Millis
    received_at: Millis
    permanent: bool = False
    provider_message_id: str | None = None
    detail: str = ""


class InboundV1(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="inbound.v1", tag_field="schema"):
    """Published on `notify.receipts`, keyed by the address key of its sender: a text that is no opt-out word."""

    inbound_id: str
    channel: Channel
    provider: str
    address_key: str
    at: Millis
    received_at: Millis
    text: str = ""


decode_receipt = msgspec.json.Decoder(ReceiptV1 | InboundV1).decode
