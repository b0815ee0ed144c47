"""Deliveries as the orchestrator makes them, for a sender alone."""

import json
import time
from collections.abc import Iterator, Sequence

import msgspec

from notify_streams.domain import ids
from notify_streams.settings import Kafka
from notify_streams.streaming.partitions import Partitions
from schemas.codec import encode
from schemas.content import Content
from schemas.deliveries import DeliveryV1
from schemas.words import Channel, Lane
from tests.bench.kafka import Record
from tests.bench.vendors import PLATFORMS, Vendors

CHANNELS: dict[str, Channel] = {
    **dict.fromkeys(("smtp", "ses", "sendgrid"), "email"),
    **dict.fromkeys(("fcm", "apns", "webpush"), "push"),
    "twilio": "sms",
    "webhook": "webhook",
}
_DAY_MS = 86_400_000
_ORDER: dict[str, object] = {"order": "123", "total": "19.90 EUR", "items": [], "url": "https://shop.example/1"}
_SAYS: dict[Channel, tuple[str, dict[str, object]]] = {
    "email": ("order.confirmed", _ORDER),
    "webhook": ("order.confirmed", _ORDER),
    "push": ("message.direct", {"text": "Are you coming tonight?", "url": "https://app.example/messages/7"}),
    "sms": ("auth.otp", {"code": "123456", "minutes": 5}),
}


def delivery(vendors: Vendors, provider: str, number: int, lane: Lane, *, run: str) -> DeliveryV1:
    """Of a user of its own; `run` keeps the ids of two runs apart."""
    user, channel, now = f"user-{number:06d}", CHANNELS[provider], time.time_ns() // 1_000_000
    notification_id = ids.notification_id("/bench", f"{run}-{number}", None, user)
    type_, payload = _SAYS[channel]
    return DeliveryV1(
        delivery_id=ids.delivery_id(notification_id, channel, "e-1"),
        notification_id=notification_id,
        user_id=user,
        type=type_,
        channel=channel,
        endpoint_id="e-1",
        accepted_at=now,
        expires_at=now + _DAY_MS,
        decided_at=now,
        lane=lane,
        source="/bench",
        event_id=f"{run}-{number}",
        locale="en",
        platform=PLATFORMS.get(provider),
        content=Content(payload=msgspec.Raw(json.dumps(payload).encode()), address=vendors.address(provider, number)),
    )


def records(
    vendors: Vendors, providers: Sequence[str], count: int, lane: Lane, config: Kafka, *, run: str
) -> Iterator[Record]:
    """`count` deliveries, of the providers in turn."""
    of = Partitions(config.partitions).of
    for number in range(count):
        made = delivery(vendors, providers[number % len(providers)], number, lane, run=run)
        key = made.user_id.encode()
        yield of(key), key, encode(made)
