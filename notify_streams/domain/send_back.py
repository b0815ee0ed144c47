"""A delivery that its sender gives back: the notification that it was decided from, for this endpoint alone."""

import msgspec

from schemas.deliveries import DeliveryV1
from schemas.notifications import NotificationV1

BY_SENDER = "sender/"


def send_back(delivery: DeliveryV1) -> NotificationV1:
    """What is to be decided again; the same bytes however often the delivery is met.

    Decided to be delivered, it becomes this delivery again, under the same id and with the attempt that was due.
    """
    content = delivery.content
    return NotificationV1(
        notification_id=delivery.notification_id,
        user_id=delivery.user_id,
        type=delivery.type,
        source=delivery.source,
        event_id=delivery.event_id,
        accepted_at=delivery.accepted_at,
        expires_at=delivery.expires_at,
        origin=f"{BY_SENDER}{delivery.delivery_id}/{delivery.revision}/{delivery.attempt}",
        lane=delivery.lane,
        channels=(delivery.channel,),
        excluded=delivery.excluded,
        revision=delivery.revision + 1,
        tenant=delivery.tenant,
        send_at=delivery.send_at,
        due_at=delivery.due_at,
        attempt=delivery.attempt,
        endpoint_id=delivery.endpoint_id,
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
