"""A notification as a webhook's body (Standard Webhooks 1.0.0, "Payload structure")."""

from datetime import UTC, datetime

import orjson

from notify_streams.domain.rendered import RenderedWebhook
from notify_streams.ports import Message


def body(message: Message, rendered: RenderedWebhook) -> bytes:
    """`type`, `timestamp` (when it happened, the same for every attempt) and `data`."""
    at = datetime.fromtimestamp(message.accepted_at / 1000, UTC).isoformat(timespec="milliseconds")
    return orjson.dumps({"type": message.type, "timestamp": at.replace("+00:00", "Z"), "data": rendered.data})
