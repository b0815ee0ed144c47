"""Values that are valid by default; a test names only what it is about."""

from typing import Any
from uuid import uuid4

import msgspec
import orjson

from notify_streams.domain import ids
from notify_streams.domain.accept import Record
from notify_streams.domain.retry import RetryPolicy
from schemas.catalogue import Catalogue, Category, NotificationType
from schemas.content import Actor, Content, Object
from schemas.decisions import ProfileSlice
from schemas.deliveries import DeliveryV1
from schemas.notifications import NotificationV1
from schemas.outcomes import OutcomeV1
from schemas.profiles import Address, Endpoint, ProfileV1
from schemas.timers import PutTimerV1
from schemas.words import CHANNELS, Channel, Lane

NOW = 1_790_000_000_000
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
MAILBOX = "ann@example.com"
A_NOTIFICATION = ids.notification_id("/shop/orders", "order-123-confirmed", None, "ann")

POLICY = RetryPolicy(base_ms=2_000, cap_ms=5 * MINUTE, attempts=6, lock_ms=10 * MINUTE)


def an_id() -> str:
    """One that nobody has met."""
    return str(uuid4())


def a_type(**changes: Any) -> NotificationType:
    """Orders, on every channel, for a day."""
    return msgspec.structs.replace(NotificationType(category="orders", channels=CHANNELS), **changes)


def a_catalogue(*, channels: tuple[Channel, ...] = CHANNELS, **types: NotificationType) -> Catalogue:
    """`order.confirmed`, the mandatory `auth.otp`, and what is named (`a_b` for `a.b`)."""
    known = {"order.confirmed": a_type(), "auth.otp": a_type(category="security", mandatory=True, priority="high")}
    return Catalogue(
        hash="c0ffee",
        channels=channels,
        fallback_locale="en",
        types=known | {name.replace("_", "."): type_ for name, type_ in types.items()},
        categories={"orders": Category(titles={"en": "Orders"}), "security": Category(titles={"en": "Security"})},
    )


def an_event(**changes: Any) -> dict[str, Any]:
    """A CloudEvent in structured mode, as plain values; `data` is merged into its own."""
    data: dict[str, Any] = {"recipients": ["ann"], "payload": {"order": "123"}} | changes.pop("data", {})
    plain = {"specversion": "1.0", "id": "order-123-confirmed", "source": "/shop/orders", "type": "order.confirmed"}
    return {**plain, **changes, "data": data}


def a_record(value: bytes | dict[str, Any] | None = None, **changes: Any) -> Record:
    """That event, just appended to the log on lane normal."""
    raw = value if isinstance(value, bytes) else orjson.dumps(an_event() if value is None else value)
    plain = Record(value=raw, lane="normal", accepted_at=NOW, origin="notify.events.normal/0/7")
    return msgspec.structs.replace(plain, **changes)


def a_notification(**changes: Any) -> NotificationV1:
    """An order confirmed for Ann, by mail and in the inbox, good for an hour."""
    plain = NotificationV1(
        notification_id=A_NOTIFICATION,
        user_id="ann",
        type="order.confirmed",
        source="/shop/orders",
        event_id="order-123-confirmed",
        accepted_at=NOW,
        expires_at=NOW + HOUR,
        origin="notify.events.normal/0/7",
        channels=("inapp", "email"),
        content=Content(payload=msgspec.Raw(b'{"order":"123"}')),
    )
    return msgspec.structs.replace(plain, **changes)


def an_endpoint(channel: Channel = "email", endpoint_id: str = "home", **changes: Any) -> Endpoint:
    """Ann's verified mailbox."""
    plain = Endpoint(channel=channel, endpoint_id=endpoint_id, verified=True, content=Address(MAILBOX))
    return msgspec.structs.replace(plain, **changes)


def a_profile(*endpoints: Endpoint, **changes: Any) -> ProfileV1:
    """Somebody with one mailbox and no wishes."""
    return msgspec.structs.replace(ProfileV1(version=7, endpoints=endpoints or (an_endpoint(),)), **changes)


def a_slice(*endpoints: Endpoint, **changes: Any) -> ProfileSlice:
    """What a decision sees of somebody whose one mailbox is verified."""
    known = tuple(msgspec.structs.replace(e, content=None) for e in endpoints or (an_endpoint(),))
    return msgspec.structs.replace(ProfileSlice(version=7, endpoints=known), **changes)


def a_delivery(notification_id: str = A_NOTIFICATION, **changes: Any) -> DeliveryV1:
    """That order's mail to Ann, first attempt; its id follows from what it is of."""
    plain = DeliveryV1(
        delivery_id="",
        notification_id=notification_id,
        user_id="ann",
        type="order.confirmed",
        channel="email",
        endpoint_id="home",
        accepted_at=NOW,
        expires_at=NOW + DAY,
        decided_at=NOW + 20,
        content=Content(payload=msgspec.Raw(b'{"order":"123"}'), address=MAILBOX),
    )
    made = msgspec.structs.replace(plain, **changes)
    if made.delivery_id:
        return made
    id_ = ids.delivery_id(made.notification_id, made.channel, made.endpoint_id)
    return msgspec.structs.replace(made, delivery_id=id_)


def an_outcome(delivery: DeliveryV1 | None = None, **changes: Any) -> OutcomeV1:
    """That mail, taken by the provider."""
    of = delivery or a_delivery()
    plain = OutcomeV1(
        delivery_id=of.delivery_id,
        notification_id=of.notification_id,
        user_id=of.user_id,
        type=of.type,
        channel=of.channel,
        endpoint_id=of.endpoint_id,
        state="sent",
        at=NOW + 500,
        attempt=of.attempt,
        provider="smtp",
    )
    return msgspec.structs.replace(plain, **changes)


def a_timer(timer_id: str = "retry/1", due_at: int = NOW, revision: int = 1, *, lane: Lane = "normal") -> PutTimerV1:
    """One that brings a mail back."""
    payload = msgspec.Raw(b'{"attempt":%d}' % (revision + 1))
    target = f"deliveries.email.{lane}"
    return PutTimerV1(timer_id=timer_id, due_at=due_at, revision=revision, target=target, payload=payload, lane=lane)


def ann_content() -> Content:
    """Content with all its parts."""
    return Content(
        payload=msgspec.Raw(b'{"order":"123","total":19.90}'),
        actor=Actor("user-7", "Änn"),
        object=Object("post", "9"),
        address=MAILBOX,
    )
