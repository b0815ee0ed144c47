"""From a record of a replayable topic to the notifications that it was about."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from notify_streams.domain import accept
from notify_streams.domain.accept import TENANT_HEADER, Limits, Rejected, Tenants
from notify_streams.domain.send_back import send_back
from notify_streams.replay.account import Aside
from notify_streams.replay.plan import Kind
from schemas.catalogue import Catalogue
from schemas.decisions import DecisionV1, decode_decision
from schemas.deliveries import decode_delivery
from schemas.notifications import NotificationV1, decode_notification_or_flush
from schemas.words import LANES, Lane

Derived = tuple[NotificationV1, ...] | Aside


class Raw(NamedTuple):
    """A record as the log or an archive has it. `timestamp` in ms."""

    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Mapping[str, bytes | None] = MappingProxyType({})


class Reader(msgspec.Struct, frozen=True):
    """What events are read with: the same as ingest's."""

    catalogue: Catalogue
    limits: Limits
    tenants: Tenants


def reading(topic: str, kind: Kind, reader: Reader) -> Callable[[Raw], Derived]:
    """How the records of this topic are read. What follows never raises for what is in a record.

    A notification that came back to be decided again, for some of its channels or for one endpoint, stands for itself
    on these channels; so does a delivery for its notification on its channel, whatever its endpoint.
    """
    match kind:
        case "events":
            lane = next(lane for lane in LANES if topic.endswith(f".{lane}"))
            return lambda raw: _of_event(raw, topic, lane, reader)
        case "notifications":
            return _safely(_of_notification)
        case "deliveries":
            return _safely(_of_delivery)
        case "decisions":
            return _safely(_of_decision)


def _safely(read: Callable[[bytes], Derived]) -> Callable[[Raw], Derived]:
    def derived(raw: Raw) -> Derived:
        if raw.value is None:
            return "tombstones"
        try:
            return read(raw.value)
        except (msgspec.MsgspecError, ValueError):
            return "unreadable"

    return derived


def _of_event(raw: Raw, topic: str, lane: Lane, reader: Reader) -> Derived:
    if raw.value is None:
        return "tombstones"
    record = accept.Record(
        value=raw.value,
        key=raw.key,
        headers=raw.headers,
        lane=lane,
        accepted_at=raw.timestamp,
        origin=f"{topic}/{raw.partition}/{raw.offset}",
        tenant=(raw.headers.get(TENANT_HEADER) or b"").decode(errors="replace"),
    )
    accepted = accept.accept(record, reader.catalogue, reader.limits, reader.tenants)
    return "rejected" if isinstance(accepted, Rejected) else accepted.notifications or "other"


def _of_notification(value: bytes) -> Derived:
    met = decode_notification_or_flush(value)
    return (_plain(met),) if isinstance(met, NotificationV1) else "other"


def _of_delivery(value: bytes) -> Derived:
    delivery = decode_delivery(value)
    return "other" if delivery.hook else (_plain(send_back(delivery)),)


def _of_decision(value: bytes) -> Derived:
    met = decode_decision(value)
    return (_plain(met.notification),) if isinstance(met, DecisionV1) else "other"


def _plain(notification: NotificationV1) -> NotificationV1:
    """Without what belongs to one attempt at it, or to an earlier replay."""
    return replace(
        notification,
        origin="",
        revision=0,
        due_at=None,
        attempt=1,
        endpoint_id=None,
        by="",
        uncounted=0,
        replay=None,
    )
