"""The three forms in which POST /v1/events takes an event, and the Kafka record that each becomes."""

import re
from collections.abc import Mapping
from hashlib import sha256
from urllib.parse import unquote_to_bytes

import msgspec

from notify_streams.domain.accept import TENANT_HEADER, Rejected
from notify_streams.gateway.problems import Problem, invalid
from schemas.codec import encode
from schemas.commands import FieldError

STRUCTURED, JSON = "application/cloudevents+json", "application/json"
_ENVELOPE = ("type", "time", "subject", "traceparent")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]|\[\.\.\.\]")
_MALFORMED = frozenset({"invalid_json", "too_deep"})
_TOO_LARGE = frozenset({"event_too_large", "expansion_too_large"})
_decode_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """What goes to Kafka. `flat`: the caller's body is the event's `data`, or `data` and envelope in one."""

    value: bytes
    headers: dict[str, bytes]
    flat: bool = False

    @property
    def digest(self) -> bytes:
        """Of all that makes the event what it is."""
        attributes = sorted(f"{k}\0".encode() + v for k, v in self.headers.items() if k.startswith("ce_"))
        return sha256(b"\0".join((self.value, *attributes))).digest()

    def of_tenant(self, tenant: str) -> "Envelope":
        """The same, and whose it is; callers' own headers never come this far."""
        headers = {**self.headers, TENANT_HEADER: tenant.encode()} if tenant else self.headers
        return msgspec.structs.replace(self, headers=headers)


def envelope_of(headers: Mapping[str, str], body: bytes, own_source: str) -> Envelope:
    """By content type and headers. Raises 400 or 415; what is inside is not looked at here."""
    content_type = headers.get("Content-Type", JSON).partition(";")[0].strip().lower()
    trace = headers.get("traceparent", "")
    traced = {"traceparent": trace.encode()} if trace and trace.isascii() else {}
    if content_type == STRUCTURED:
        return Envelope(value=body, headers={"content-type": STRUCTURED.encode(), **traced})
    if content_type != JSON:
        raise Problem(415, "unsupported_media_type", f"events come as {STRUCTURED} or {JSON}")
    if "ce-specversion" in headers:
        attributes = {
            "ce_" + name.lower()[3:]: unquote_to_bytes(text.encode(errors="surrogateescape"))
            for name, text in headers.items()
            if name.lower().startswith("ce-")
        }
        return Envelope(value=body, headers={"content-type": JSON.encode(), **attributes, **traced}, flat=True)
    try:
        fields = _decode_object(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Envelope(value=body, headers={"content-type": STRUCTURED.encode(), **traced})
    if "specversion" in fields:
        return Envelope(value=body, headers={"content-type": STRUCTURED.encode(), **traced})
    return _short(fields, headers.get("Idempotency-Key", ""), own_source, traced)


def envelope_in_batch(item: bytes, own_source: str) -> Envelope:
    """A CloudEvent, or the short form, whose id is then its member `idempotency_key`. Raises a 400."""
    structured = Envelope(value=item, headers={"content-type": STRUCTURED.encode()})
    try:
        fields = _decode_object(item)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return structured
    if "specversion" in fields:
        return structured
    try:
        id_ = msgspec.json.decode(fields.pop("idempotency_key", b'""'), type=str)
    except (msgspec.DecodeError, UnicodeDecodeError):
        id_ = ""
    return _short(fields, id_, own_source, {}, "member idempotency_key")


def check_idempotency_key(headers: Mapping[str, str], event_id: str) -> None:
    """Raises a 400 when the header names another event than the CloudEvent does."""
    named = headers.get("Idempotency-Key")
    if named is not None and named != event_id:
        raise Problem(400, "idempotency_key_mismatch", "Idempotency-Key and the event's id differ")


def problem_of(rejected: Rejected, *, flat: bool) -> Problem:
    """400 for what is no proper JSON, 413 for what is too large, else 422; the pointer is into the caller's body."""
    pointer = pointer_of(rejected.path, flat=flat)
    if rejected.code in _TOO_LARGE:
        status = 413
    elif rejected.code in _MALFORMED:
        status = 400
    else:
        return invalid(rejected.code, rejected.reason, pointer)
    return Problem(status, rejected.code, rejected.reason, errors=(FieldError(pointer, rejected.reason),))


def pointer_of(path: str, *, flat: bool) -> str:
    """`$.data.recipients[3]` as a JSON pointer."""
    steps = [name or index or "*" for name, index in _STEP.findall(path)]
    if flat and steps[:1] == ["data"]:
        del steps[0]
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps)


def _short(
    fields: dict[str, msgspec.Raw],
    event_id: str,
    own_source: str,
    traced: dict[str, bytes],
    where: str = "header Idempotency-Key",
) -> Envelope:
    if not event_id or len(event_id) > 255 or not event_id.isprintable():
        detail = f"the short form needs a {where} of 1 to 255 printable characters"
        raise Problem(400, "idempotency_key_required", detail)
    event: dict[str, object] = {"specversion": "1.0", "id": event_id, "source": own_source}
    event.update((name, fields.pop(name)) for name in _ENVELOPE if name in fields)
    event["data"] = fields
    return Envelope(value=encode(event), headers={"content-type": STRUCTURED.encode(), **traced}, flat=True)
