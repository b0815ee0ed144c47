"""A delivery that its sender gives back: the notification that it was decided from, for this endpoint alone."""

import msgspec

from schemas.deliveries import DeliveryV1
from schemas.notifications import NotificationV1

BY_SENDER = "sender/"


def send_back(delivery: DeliveryV1) -> NotificationV1:
    """What is to be decided again; the same bytes however often the delivery is met.

    Decided to be delivered, it becomes this delivery again, under the same id and with the attempt that was due.
    """
    return _back(delivery, origin=f"{BY_SENDER}{delivery.delivery_id}/{delivery.revision}/{delivery.attempt}")


def fall_back(delivery: DeliveryV1) -> NotificationV1:
    """Where `delivery` has failed for good: the notification on the channels that stand in, for all their endpoints."""
    return msgspec.structs.replace(
        _back(delivery, origin=f"{BY_SENDER}{delivery.delivery_id}/fallback"),
        channels=delivery.fallback,
        excluded=(*delivery.excluded, delivery.channel),
        fallback=delivery.fallback,
        attempt=1,
        by="",
        uncounted=0,
        endpoint_id=None,
        due_at=None,
    )


def _back(delivery: DeliveryV1, *, origin: str) -> NotificationV1:
    content = delivery.content
    return NotificationV1(
        notification_id=delivery.notification_id,
        user_id=delivery.user_id,
        type=delivery.type,
        source=delivery.source,
        event_id=delivery.event_id,
        accepted_at=delivery.accepted_at,
        expires_at=delivery.expires_at,
        origin=origin,
        lane=delivery.lane,
        channels=(delivery.channel,),
        excluded=delivery.excluded,
        revision=delivery.revision + 1,
        tenant=delivery.tenant,
        send_at=delivery.send_at,
        due_at=delivery.due_at,
        attempt=delivery.attempt,
        endpoint_id=delivery.endpoint_id,
        by=delivery.by,
        uncounted=delivery.uncounted,
        fallback=delivery.fallback,
        members=delivery.members,
        event_time=delivery.event_time,
        dedupe_key=delivery.dedupe_key,
        collapse_key=delivery.collapse_key,
        aggregation_key=delivery.aggregation_key,
        locale=delivery.event_locale,
        broadcast_id=delivery.broadcast_id,
        replay=delivery.replay,
        traceparent=delivery.traceparent,
        content=None if content is None else msgspec.structs.replace(content, address=None),
        sealed=delivery.sealed,
    )
