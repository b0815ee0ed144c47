"""A producer's CloudEvent, as `notify.events.<lane>` and `POST /v1/events` take it."""

from datetime import datetime
from typing import Annotated

import msgspec

from schemas.content import Actor, Object
from schemas.words import Channel, Lane

Instant = Annotated[datetime, msgspec.Meta(tz=True)]
Name = Annotated[str, msgspec.Meta(min_length=1)]
Key = Annotated[str, msgspec.Meta(min_length=1, max_length=512)]  # and at most 512 bytes of UTF-8
UserId = Annotated[str, msgspec.Meta(min_length=1, max_length=128)]


class Audience(msgspec.Struct, frozen=True, omit_defaults=True):
    """Recipients by rule instead of by name: one of both fields."""

    segment: str | None = None
    all: bool = False


class EventData(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The `data` of an event. Unknown fields are ignored."""

    payload: msgspec.Raw
    recipients: Annotated[tuple[UserId, ...], msgspec.Meta(min_length=1)] | None = None
    audience: Audience | None = None
    channels: Annotated[tuple[Channel, ...], msgspec.Meta(min_length=1)] | None = None
    priority: Lane | None = None
    send_at: Instant | None = None
    expires_at: Instant | None = None
    dedupe_key: Key | None = None
    collapse_key: Key | None = None
    aggregation_key: Key | None = None
    actor: Actor | None = None
    object: Object | None = None
    locale: str | None = None


class CloudEvent(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """CloudEvents 1.0, structured mode. Identity is (source, id), or (source, data.dedupe_key) when that is set."""

    specversion: Annotated[str, msgspec.Meta(pattern=r"^1\.")]
    id: Name
    source: Name
    type: Name
    data: EventData
    time: Instant | None = None
    subject: str | None = None
    traceparent: str | None = None
