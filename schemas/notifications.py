"""A notification: one event for one user, on its way to a decision."""

import msgspec

from schemas.content import Content, Sealed
from schemas.words import Channel, Lane, Millis


class NotificationV1(
    msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="notification.v1", tag_field="schema"
):
    """Published on `notify.notifications.<lane>`, keyed by user id. Instants are milliseconds since the epoch, UTC.

    `origin` names the record that made this one: `TOPIC/PARTITION/OFFSET` of the event, or `timer/ID/REVISION`.
    A repeat carries the same one, a duplicate another. `channels` is what may be decided: the type's, narrowed by
    the event, and by what a timer brings back. `revision` counts how often it was decided before.
    """

    notification_id: str
    user_id: str
    type: str
    source: str
    event_id: str
    accepted_at: Millis
    expires_at: Millis
    origin: str = ""
    lane: Lane = "normal"
    channels: tuple[Channel, ...] = ()
    excluded: tuple[Channel, ...] = ()
    revision: int = 0
    tenant: str = ""
    send_at: Millis | None = None
    due_at: Millis | None = None
    event_time: Millis | None = None
    dedupe_key: str | None = None
    collapse_key: str | None = None
    aggregation_key: str | None = None
    locale: str | None = None
    broadcast_id: str | None = None
    replay: str | None = None
    traceparent: str | None = None
    content: Content | None = None
    sealed: Sealed | None = None


decode_notification = msgspec.json.Decoder(NotificationV1).decode
