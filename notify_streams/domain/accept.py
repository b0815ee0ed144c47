"""From a producer's record to notifications, or to the field that is wrong and why."""

import re
from collections.abc import Mapping
from datetime import datetime
from fnmatch import fnmatchcase
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import msgspec

from notify_streams.domain import ids
from notify_streams.domain.json_checks import BadJson, decoded, depth_of
from schemas.catalogue import Catalogue, NotificationType
from schemas.content import Content
from schemas.events import CloudEvent, EventData
from schemas.notifications import NotificationV1
from schemas.words import LANE_BYTES, LANES, MAX_MS, Channel, Lane

STRUCTURED = "application/cloudevents"
MOST_AHEAD_MS = 366 * 86_400_000
TENANT_HEADER = "notify-tenant"  # set by the gateway: the tenant of the producer's key
TRACE_HEADER = "traceparent"
_BOM = b"\xef\xbb\xbf"
_AT = re.compile(r"^(?P<reason>.*) - at `(?P<path>[^`]*)`$", re.DOTALL)
_ENVELOPE_DEPTH = 3
_KEY_BYTES = 512
_TRACE_CHARACTERS = 128  # W3C's has 55: what is no traceparent is not carried through every hop
_decode_event = msgspec.json.Decoder(CloudEvent).decode
_decode_data = msgspec.json.Decoder(EventData).decode


Tenants = Mapping[str, str]


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One record as it came. `accepted_at` is the broker's append time (ms), `origin` names its place.

    `tenant` is that of the producer's key, where its gateway says one.
    """

    value: bytes
    key: bytes | None = None
    headers: Mapping[str, bytes | None] = {}
    lane: Lane
    accepted_at: int
    origin: str
    tenant: str = ""


class Limits(msgspec.Struct, frozen=True):
    """Sizes beyond which an event is refused. Bytes, but for the counts."""

    event_bytes: int = 256 * 1024
    expansion_bytes: int = 16 * 1024 * 1024
    recipients: int = 1000
    payload_depth: int = 32


class Accepted(msgspec.Struct, frozen=True):
    """The notifications of one event, one per distinct user in the order named, all on one lane."""

    event: CloudEvent
    type: NotificationType
    lane: Lane
    notifications: tuple[NotificationV1, ...]


class Rejected(msgspec.Struct, frozen=True):
    """Never processable as it is: `path` as in `$.data.recipients[3]`, and a stable `code`."""

    path: str
    reason: str
    code: str = "invalid_event"

    @property
    def words(self) -> str:
        """What a dead letter says."""
        return f"{self.path}: {self.reason}"


class _Refusal(ValueError):
    def __init__(self, path: str, reason: str, code: str = "invalid_event") -> None:
        super().__init__(reason)
        self.rejected = Rejected(path, reason, code)


def accept(
    record: Record, catalogue: Catalogue, limits: Limits, tenants: Tenants = MappingProxyType({})
) -> Accepted | Rejected:
    """Check everything that can be checked without a user's state. Never raises for bad data.

    `tenants` by globs of sources, the first that matches; they overrule the record's: anybody may set a header.
    """
    try:
        _check_place(record)
        event, size = parse(record.value, record.headers, limits)
        _check_send_at(event, record)
        _check_keys(event)
        type_ = _type_of(event, catalogue)
        users = _recipients(event, size, limits)
        payload = _payload(event, limits)
        _check_required(payload, event.type, type_)
    except _Refusal as refusal:
        return refusal.rejected
    lane = lowest(type_.priority, event.data.priority, record.lane)
    tenant = _tenant_of(event.source, tuple(tenants.items())) or record.tenant
    record = msgspec.structs.replace(record, tenant=tenant)
    return Accepted(event, type_, lane, tuple(_notifications(record, event, type_, lane, users)))


def parse(value: bytes, headers: Mapping[str, bytes | None], limits: Limits) -> tuple[CloudEvent, int]:
    """The CloudEvent and its size in bytes, structured or binary. Raises a ValueError with a `rejected`."""
    attributes = {name: text or b"" for name, text in headers.items() if name.startswith("ce_")}
    size = len(value) + sum(len(name) + len(text) for name, text in attributes.items())
    if size > limits.event_bytes:
        raise _Refusal("$", f"{size} bytes; an event has at most {limits.event_bytes}", "event_too_large")
    if value.startswith(_BOM):
        value = value[len(_BOM) :]
    if depth_of(value, limits.payload_depth) > limits.payload_depth + _ENVELOPE_DEPTH:
        raise _Refusal("$", f"nested deeper than {limits.payload_depth} levels", "too_deep")
    try:
        value.decode()
        content_type = (headers.get("content-type") or b"").decode("latin-1")
        if "ce_specversion" in attributes and not content_type.startswith(STRUCTURED):
            return _binary(value, attributes), size
        return _decode_event(value), size
    except UnicodeDecodeError as error:
        raise _Refusal("$", f"not UTF-8 at byte {error.start}", "invalid_json") from None
    except msgspec.ValidationError as error:
        raise _Refusal(*_words_of(error)) from None
    except msgspec.DecodeError as error:
        raise _not_json(value, "$", error) from None


def _check_place(record: Record) -> None:
    """The parts of a record that are no event: its key is text, its append time is one that a calendar has."""
    try:
        (record.key or b"").decode()
    except UnicodeDecodeError as error:
        raise _Refusal("key", f"not UTF-8 at byte {error.start}", "invalid_key") from None
    if not 0 <= record.accepted_at <= MAX_MS:
        raise _Refusal("timestamp", f"{record.accepted_at} is no instant in ms since the epoch", "invalid_timestamp")


def _check_send_at(event: CloudEvent, record: Record) -> None:
    send_at = milliseconds(event.data.send_at)
    if send_at is not None and send_at > record.accepted_at + MOST_AHEAD_MS:
        raise _Refusal("$.data.send_at", "more than 366 days ahead")


def _check_keys(event: CloudEvent) -> None:
    for name in ("dedupe_key", "collapse_key", "aggregation_key"):
        key: str | None = getattr(event.data, name)
        fault = None if key is None else why_no_key(key)
        if fault is not None:
            raise _Refusal(f"$.data.{name}", fault)


def why_no_key(key: str) -> str | None:
    """What is wrong with a key that events share: 1 to 512 bytes of UTF-8; None when it is one."""
    return None if 1 <= len(key.encode()) <= _KEY_BYTES else f"a key has 1 to {_KEY_BYTES} bytes"


def lowest(*lanes: Lane | None) -> Lane:
    """The slowest of the lanes named."""
    return LANES[max(LANE_BYTES[lane] for lane in lanes if lane is not None)]


def milliseconds(instant: datetime | None) -> int | None:
    """Since the epoch; what lies outside of 1970 to 9999 is taken for the nearest of them."""
    return None if instant is None else min(MAX_MS, max(0, round(instant.timestamp() * 1000)))


def _binary(value: bytes, headers: Mapping[str, bytes]) -> CloudEvent:
    attributes: dict[str, Any] = {}
    for header, text in headers.items():
        name = header.removeprefix("ce_")
        try:
            attributes[name] = text.decode()
        except UnicodeDecodeError as error:
            raise _Refusal(f"$.{name}", f"not UTF-8 at byte {error.start}") from None
    try:
        data = _decode_data(value)
    except msgspec.ValidationError as error:
        path, reason = _words_of(error)
        raise _Refusal("$.data" + path[1:], reason) from None
    except msgspec.DecodeError as error:
        raise _not_json(value, "$.data", error) from None
    attributes["data"] = {"payload": msgspec.Raw(b"{}")}
    return msgspec.structs.replace(msgspec.convert(attributes, CloudEvent), data=data)


def _type_of(event: CloudEvent, catalogue: Catalogue) -> NotificationType:
    type_ = catalogue.types.get(event.type)
    if type_ is None:
        raise _Refusal("$.type", f"the catalogue has no type {event.type[:100]!r}", "unknown_type")
    return type_


def _recipients(event: CloudEvent, size: int, limits: Limits) -> tuple[str, ...]:
    data = event.data
    named: tuple[str, ...]
    if data.audience is not None:
        raise _Refusal("$.data.audience", "audiences are not expanded by this version; name recipients")
    named = data.recipients if data.recipients is not None else (event.subject or "",)
    if named == ("",):
        raise _Refusal("$.data.recipients", "required: at least one user id")
    path = "$.subject" if data.recipients is None else "$.data.recipients[{}]"
    if len(named) > limits.recipients:
        raise _Refusal(
            "$.data.recipients", f"{len(named)} recipients; at most {limits.recipients}", "too_many_recipients"
        )
    if size * len(named) > limits.expansion_bytes:
        reason = f"{size} bytes for {len(named)} recipients; at most {limits.expansion_bytes} together"
        raise _Refusal("$.data.recipients", reason, "expansion_too_large")
    for at, user_id in enumerate(named):
        fault = why_no_user_id(user_id)
        if fault is not None:
            raise _Refusal(path.format(at), fault)
    return tuple(dict.fromkeys(named))


def why_no_user_id(user: str) -> str | None:
    """What is wrong with a user id: 1 to 128 bytes of UTF-8, no control characters; None when it is one."""
    if not user or len(user.encode()) > 128:
        return "a user id has 1 to 128 bytes"
    if not user.isprintable() and any(ord(c) < 32 or 127 <= ord(c) < 160 for c in user):
        return "a user id has no control characters"
    return None


def _payload(event: CloudEvent, limits: Limits) -> dict[str, Any]:
    raw = bytes(event.data.payload)
    if depth_of(raw, limits.payload_depth) > limits.payload_depth:
        raise _Refusal("$.data.payload", f"nested deeper than {limits.payload_depth} levels", "too_deep")
    try:
        payload = decoded(raw, "$.data.payload")
    except BadJson as bad:
        raise _Refusal(bad.path, bad.reason, "invalid_json") from None
    if not isinstance(payload, dict):
        raise _Refusal("$.data.payload", "expected an object")
    return payload


def _check_required(payload: Mapping[str, Any], name: str, type_: NotificationType) -> None:
    for field in type_.required:
        if payload.get(field) is None:
            raise _Refusal(f"$.data.payload.{field}", f"the templates of {name} need it", "missing_variable")


def _notifications(
    record: Record, event: CloudEvent, type_: NotificationType, lane: Lane, users: tuple[str, ...]
) -> list[NotificationV1]:
    data, send_at = event.data, milliseconds(event.data.send_at)
    by_ttl = min(MAX_MS, max(record.accepted_at, send_at or 0) + type_.ttl_ms)
    asked = milliseconds(data.expires_at)
    traceparent = _traceparent(event, record.headers)
    content = Content(payload=data.payload, actor=data.actor, object=data.object)
    channels: tuple[Channel, ...] = type_.channels if data.channels is None else tuple(dict.fromkeys(data.channels))
    return [
        NotificationV1(
            notification_id=ids.notification_id(event.source, event.id, data.dedupe_key, user),
            user_id=user,
            type=event.type,
            source=event.source,
            event_id=event.id,
            accepted_at=record.accepted_at,
            expires_at=by_ttl if asked is None else min(by_ttl, asked),
            origin=record.origin,
            lane=lane,
            channels=channels,
            tenant=record.tenant,
            send_at=send_at,
            event_time=milliseconds(event.time),
            dedupe_key=data.dedupe_key,
            collapse_key=data.collapse_key,
            aggregation_key=data.aggregation_key,
            locale=data.locale,
            traceparent=traceparent,
            content=content,
        )
        for user in users
    ]


def _traceparent(event: CloudEvent, headers: Mapping[str, bytes | None]) -> str | None:
    """The event's own attribute, else the record's header as tracing clients and the gateway set it."""
    found = event.traceparent or (headers.get(TRACE_HEADER) or b"").decode("latin-1")
    return found if 0 < len(found) <= _TRACE_CHARACTERS else None


@lru_cache(maxsize=4096)
def _tenant_of(source: str, tenants: tuple[tuple[str, str], ...]) -> str:
    return next((tenant for glob, tenant in tenants if fnmatchcase(source, glob)), "")


def _words_of(error: msgspec.ValidationError) -> tuple[str, str]:
    """Path and reason out of the library's message, `Expected ..., got ... - at `$.x``."""
    match = _AT.match(str(error))
    path, reason = (match["path"], match["reason"]) if match else ("$", str(error))
    missing = re.match(r"Object missing required field `([^`]+)`", reason)
    return (f"{path}.{missing[1]}", "required") if missing else (path, reason[:1].lower() + reason[1:])


def _not_json(value: bytes, path: str, error: msgspec.DecodeError) -> _Refusal:
    try:
        decoded(value, path)
    except BadJson as bad:
        return _Refusal(bad.path, bad.reason, "invalid_json")
    return _Refusal(path, str(error), "invalid_json")
