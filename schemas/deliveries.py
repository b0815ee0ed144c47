"""A delivery: one notification on one channel to one endpoint."""

import msgspec

from schemas.content import Content, Sealed
from schemas.words import Channel, Lane, Millis


class DeliveryV1(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="delivery.v1", tag_field="schema"):
    """Published on `notify.deliveries.<channel>.<lane>`, keyed by user id. Instants are ms since the epoch, UTC.

    `attempt` counts from 1. `hold_from` is the start of the user's next quiet period: a sender that meets the
    delivery later sends it back to be decided again. `members` are the notifications that a digest speaks for.
    `platform` is a push endpoint's. `avoid` are providers that have failed it since the last pause: the next of the
    chain is tried. `by` is the provider that may have taken it, which nobody knows: no other is asked any more.
    `uncounted` of its attempts do not count against the limit: failovers, credentials that were refused, calls that
    only tried whether a provider is back. `fallback` are the channels that stand in, in order, if it fails.
    `hook` names the producer's key whose webhook tells of a notification's state: such a record is a message to that
    producer and no delivery of the notification, so that no outcome is published of it and nothing is decided again.
    `event_id` to `event_locale` (what the event asks for; `locale` is what holds) are there to give it back.
    """

    delivery_id: str
    notification_id: str
    user_id: str
    type: str
    channel: Channel
    endpoint_id: str
    accepted_at: Millis
    expires_at: Millis
    decided_at: Millis
    lane: Lane = "normal"
    attempt: int = 1
    revision: int = 0
    profile_version: int = 0
    hold_from: Millis | None = None
    due_at: Millis | None = None
    source: str = ""
    event_id: str = ""
    event_time: Millis | None = None
    dedupe_key: str | None = None
    excluded: tuple[Channel, ...] = ()
    send_at: Millis | None = None
    event_locale: str | None = None
    tenant: str = ""
    locale: str | None = None
    zone: str | None = None
    collapse_key: str | None = None
    aggregation_key: str | None = None
    broadcast_id: str | None = None
    replay: str | None = None
    members: tuple[str, ...] = ()
    platform: str | None = None
    avoid: tuple[str, ...] = ()
    by: str = ""
    uncounted: int = 0
    fallback: tuple[Channel, ...] = ()
    hook: str = ""
    traceparent: str | None = None
    content: Content | None = None
    sealed: Sealed | None = None


decode_delivery = msgspec.json.Decoder(DeliveryV1).decode
