"""Delivery reports of mail servers (RFC 3464), for mails that go out by SMTP: whoever gets them posts them here.

The body is the report as it came by mail, the request signed as Standard Webhooks 1.0.0 has it ("Verifying webhook
authenticity": HMAC-SHA256 over id, time and raw body). Which mail it is about says the header of ours in the message
that the report gives back. "Delayed" is no failure (RFC 3464, 2.3.3).
"""

import base64
import binascii
import hmac
import re
from collections.abc import Iterator
from datetime import UTC
from email import message_from_bytes
from email.message import Message
from email.utils import parsedate_to_datetime
from hashlib import sha256

from notify_streams.domain.bounces import code_of, verdict
from notify_streams.domain.references import HEADER
from notify_streams.domain.stamps import why_stale
from notify_streams.gateway.receipts.said import (
    AddressWord,
    Bad,
    Callback,
    Event,
    Item,
    Refusal,
    unknown,
    unsigned,
)
from schemas.addresses import Suppression
from schemas.receipts import ReceiptState

ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"
_PREFIX, _SHORTEST = "whsec_", 24
_STATES: dict[str, ReceiptState] = {
    "failed": "bounced",
    "delayed": "delayed",
    "delivered": "delivered",
    "relayed": "sent",
    "expanded": "sent",
}
_AGAINST: dict[str, Suppression] = {"gone": "bounce", "full": "mailbox_full"}
_BASIC = re.compile(r"smtp\s*;\s*([245])\d\d", re.IGNORECASE)


def key_of(secret: str) -> bytes:
    """The key of `whsec_` and base64. Raises ValueError, without the secret, for what is none."""
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(_PREFIX) or len(key) < _SHORTEST:
        raise ValueError(f"expected {_PREFIX} and {_SHORTEST} bytes or more in base64")
    return key


def read(callback: Callback, key: bytes) -> list[Item] | Refusal:
    """Signature and time first; then an event for every recipient of the report."""
    refused = _why_unsigned(callback, key)
    if refused is not None:
        return unsigned(refused)
    report = message_from_bytes(callback.body)
    status = next(_parts(report, "message/delivery-status"), None)
    if status is None:
        return unknown("the body is no delivery report")
    blocks = [block for block in _inner(status) if block.get("Final-Recipient") is not None]
    original = next(
        (m for part in _parts(report, "message/rfc822", "text/rfc822-headers") for m in _returned(part)), None
    )
    if not blocks:
        return [Bad(callback.body, "a delivery report without a recipient")]
    return [_item(callback.body, report, block, original) for block in blocks]


def _why_unsigned(callback: Callback, key: bytes) -> str | None:
    given = [callback.headers.get(name) for name in (ID, TIMESTAMP, SIGNATURE)]
    if None in given:
        return "the request carries no signature of Standard Webhooks"
    id_, stamp, signatures = (str(text) for text in given)
    signed = f"{id_}.{stamp}.".encode(errors="replace") + callback.body
    made = b"v1," + base64.b64encode(hmac.digest(key, signed, sha256))
    if not any(hmac.compare_digest(made, one.encode(errors="replace")) for one in signatures.split(" ")[:10]):
        return "the signature is not that of id, timestamp and body"
    return why_stale(stamp, callback.now)


def _item(raw: bytes, report: Message, block: Message, original: Message | None) -> Item:
    state = _STATES.get(_field(block, "Action").casefold())
    if state is None:
        return Bad(raw, "Action: none that RFC 3464 knows")
    status, address = _field(block, "Status"), _field(block, "Final-Recipient").partition(";")[2].strip()
    reason = _against(status, _field(block, "Diagnostic-Code")) if state == "bounced" else None
    at, reference = _field(block, "Last-Attempt-Date") or _field(report, "Date"), _field(original, HEADER)
    return Event(
        id=f"{reference}/{state}/{status}/{at}/{address}",
        state=state,
        reference=reference,
        at=_ms(at),
        message_id=_field(original, "Message-ID") or None,
        permanent=reason == "bounce",
        detail=code_of(status),
        held=() if reason is None else (AddressWord(address, reason),),
    )


def _against(status: str, diagnostic: str) -> Suppression | None:
    """Nothing where basic and enhanced code disagree; nobody but the code says that an address is no good."""
    basic = _BASIC.search(diagnostic)
    if basic is not None and basic[1] != status[:1]:
        return None
    return _AGAINST.get(verdict(status))


def _parts(report: Message, *types: str) -> Iterator[Message]:
    return (part for part in report.walk() if part.get_content_type() in types)


def _inner(part: Message) -> list[Message]:
    inner = part.get_payload()
    return [block for block in inner if isinstance(block, Message)] if isinstance(inner, list) else []


def _returned(part: Message) -> list[Message]:
    """The message that came back, or its headers."""
    if part.get_content_type() == "message/rfc822":
        return _inner(part)
    text = part.get_payload(decode=True)
    return [message_from_bytes(text)] if isinstance(text, bytes) else []


def _field(message: Message | None, name: str) -> str:
    return "" if message is None else str(message.get(name, "")).strip()


def _ms(date: str) -> int | None:
    """Of a date as mails have it; None for what is none."""
    try:
        at = parsedate_to_datetime(date)
        return round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError, TypeError):
        return None
