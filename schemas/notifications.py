"""A notification: one event for one user, on its way to a decision."""

import msgspec

from schemas.content import Content, Sealed
from schemas.words import Channel, Lane, Millis


class NotificationV1(
    msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="notification.v1", tag_field="schema"
):
    """Published on `notify.notifications.<lane>`, keyed by user id. Instants are milliseconds since the epoch, UTC.

    `origin` names the record that made this one: `TOPIC/PARTITION/OFFSET` of the event, `timer/ID/REVISION`, or
    `sender/DELIVERY/REVISION/ATTEMPT` of a delivery that its sender gives back to be decided again, then for its
    `endpoint_id` alone and with the `attempt` (from 1) that is due. A repeat carries the same one, a duplicate another.
    `channels` is what may be decided: the type's, narrowed by the event, and by what comes back. `revision` counts how
    often it was decided before. `members` are the notifications that a digest speaks for. `by` and `uncounted` are the
    delivery's that comes back; `fallback` are the channels that stand in where those of `channels` fail, which were
    offered when it was first decided.
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
    attempt: int = 1
    endpoint_id: str | None = None
    by: str = ""
    uncounted: int = 0
    fallback: tuple[Channel, ...] = ()
    members: tuple[str, ...] = ()
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


class FlushV1(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="flush.v1", tag_field="schema"):
    """Published on `notify.notifications.<lane>` by a timer: the user's window of this number ends.

    `over`: it ended a while ago, and may be forgotten.
    """

    channel: Channel
    window: str
    number: int
    due_at: Millis
    over: bool = False
    source: str = ""


decode_notification = msgspec.json.Decoder(NotificationV1).decode
decode_notification_or_flush = msgspec.json.Decoder(NotificationV1 | FlushV1).decode
