"""Events put to `accept`, and what it makes of them."""

from collections.abc import Mapping
from typing import Any

import orjson

from notify_streams.domain.accept import Accepted, Limits, Record, Rejected, accept
from schemas.notifications import NotificationV1
from tests.builders import HOUR, a_catalogue, a_record, a_type, an_event

CATALOGUE = a_catalogue(
    order_shipped=a_type(required=("order", "carrier")),
    social_like=a_type(priority="low", ttl_ms=HOUR),
    chat=a_type(priority="high"),
)
HEADERS = {"ce_specversion": b"1.0", "ce_id": b"e-1", "ce_source": b"/shop/orders", "ce_type": b"order.confirmed"}
BODY = b'{"recipients":["ann"],"payload":{"order":"123"}}'


def outcome_of(record: Record) -> Accepted | Rejected:
    return accept(record, CATALOGUE, Limits())


def accepted(record: Record) -> tuple[NotificationV1, ...]:
    result = outcome_of(record)
    assert isinstance(result, Accepted), result
    return result.notifications


def words(record: Record) -> str:
    """What a dead letter would say."""
    result = outcome_of(record)
    assert isinstance(result, Rejected), result
    return result.words


def with_payload(raw: bytes) -> bytes:
    return orjson.dumps(an_event()).replace(b'{"order":"123"}', raw)


def binary(body: bytes = BODY, **changes: Any) -> Record:
    headers: Mapping[str, bytes | None] = {**HEADERS, "content-type": b"application/json", **changes}
    return a_record(body, headers=headers)


def nested(levels: int) -> bytes:
    return b'{"order":' + (b"[" * (levels - 1) + b"]" * (levels - 1) or b"1") + b"}"
