"""Amazon SES's events, as SNS brings them: what became of a mail.

Amazon SES Developer Guide, "Contents of event data that Amazon SES publishes to Amazon SNS" (`eventType`, with tags)
and "Amazon SNS notification contents for Amazon SES" (`notificationType`, with headers where the identity sends them).
A bounce that the receiving server explains by policy (5.7.x) says nothing against the address, whatever its type.
"""

from datetime import datetime

import msgspec

from notify_streams.domain.bounces import code_of, verdict
from notify_streams.domain.json_checks import depth_of
from notify_streams.domain.references import HEADER, TAG
from notify_streams.gateway.receipts.said import AddressWord, Bad, Event, Ignored, Item
from schemas.addresses import Suppression
from schemas.receipts import ReceiptState

_DEEPEST = 32
_STATES: dict[str, ReceiptState] = {
    "Send": "sent",
    "Delivery": "delivered",
    "DeliveryDelay": "delayed",
    "Bounce": "bounced",
    "Complaint": "complained",
    "Reject": "failed",
    "Rendering Failure": "failed",
    "Open": "read",
    "Click": "read",
}
# Amazon's own lists: the mail was not even tried.
_LISTED = frozenset({"Suppressed", "OnAccountSuppressionList"})
_NO_COMPLAINT = "not-spam"  # the recipient has taken it out of the spam folder (RFC 5965, feedback types)


class _Recipient(msgspec.Struct, rename={"address": "emailAddress", "diagnostic": "diagnosticCode"}):
    address: str
    status: str = ""
    diagnostic: str = ""


class _Header(msgspec.Struct):
    name: str
    value: str


class _Mail(msgspec.Struct, rename={"message_id": "messageId"}):
    timestamp: str
    message_id: str
    tags: dict[str, list[str]] = {}
    headers: list[_Header] = []


class _What(msgspec.Struct, rename="camel"):
    """The object that is named after the event; of its fields those that count."""

    timestamp: str | None = None
    feedback_id: str = ""
    bounce_type: str = ""
    bounce_sub_type: str | None = None
    bounced_recipients: list[_Recipient] = []
    complaint_sub_type: str | None = None
    complaint_feedback_type: str | None = None
    complained_recipients: list[_Recipient] = []
    delay_type: str = ""


class _Record(msgspec.Struct, rename="camel"):
    mail: _Mail
    event_type: str = ""
    notification_type: str = ""
    bounce: _What = msgspec.field(default_factory=_What)
    complaint: _What = msgspec.field(default_factory=_What)
    delivery: _What = msgspec.field(default_factory=_What)
    delivery_delay: _What = msgspec.field(default_factory=_What)
    open: _What = msgspec.field(default_factory=_What)
    click: _What = msgspec.field(default_factory=_What)


class _Kind(msgspec.Struct, rename="camel"):
    """Which it is; texts that SES sends to try a topic out have none that is known."""

    event_type: str = ""
    notification_type: str = ""


def read(message: str) -> Item:
    """What one message of the topic says. A text that is no event, such as SES sends to a new topic, says nothing."""
    raw = message.encode(errors="replace")
    if depth_of(raw, _DEEPEST) > _DEEPEST:
        return Bad(raw, f"nested deeper than {_DEEPEST} levels")
    try:
        kind = _kind(raw)
    except msgspec.DecodeError:
        return Ignored()
    if (kind.event_type or kind.notification_type) not in _STATES:
        return Ignored()
    try:
        return _event(_decode(raw))
    except (msgspec.DecodeError, ValueError) as error:
        return Bad(raw, str(error) if isinstance(error, msgspec.DecodeError) else "a timestamp is none")


def _event(record: _Record) -> Event:
    kind = record.event_type or record.notification_type
    what = _what(record, kind)
    state, held = _STATES[kind], tuple(_held(kind, what))
    if kind == "Complaint" and what.complaint_sub_type in _LISTED:
        state = "failed"
    if kind == "Complaint" and what.complaint_feedback_type == _NO_COMPLAINT:
        state = "read"
    at = what.timestamp or record.mail.timestamp
    return Event(
        id=f"{record.mail.message_id}/{kind}/{what.feedback_id or at}",
        state=state,
        reference=_reference(record.mail),
        at=_ms(at),
        message_id=record.mail.message_id,
        permanent=state == "bounced" and any(word.reason == "bounce" for word in held),
        detail=_detail(kind, what),
        held=held,
    )


def _what(record: _Record, kind: str) -> _What:
    named = {
        "Bounce": record.bounce,
        "Complaint": record.complaint,
        "Delivery": record.delivery,
        "DeliveryDelay": record.delivery_delay,
        "Open": record.open,
        "Click": record.click,
    }
    what = named.get(kind) or _What()
    if kind == "Bounce" and not what.bounced_recipients:
        raise msgspec.ValidationError("Object missing required field `bouncedRecipients`")
    if kind == "Complaint" and not what.complained_recipients:
        raise msgspec.ValidationError("Object missing required field `complainedRecipients`")
    return what


def _held(kind: str, what: _What) -> list[AddressWord]:
    if kind == "Complaint" and what.complaint_feedback_type != _NO_COMPLAINT:
        return [AddressWord(recipient.address, "complaint") for recipient in what.complained_recipients]
    if kind != "Bounce":
        return []
    words = [(recipient.address, _against(what, recipient)) for recipient in what.bounced_recipients]
    return [AddressWord(address, reason) for address, reason in words if reason is not None]


def _against(what: _What, recipient: _Recipient) -> Suppression | None:
    """The server's code has to allow what SES makes of it."""
    if what.bounce_type == "Transient":
        return "mailbox_full" if what.bounce_sub_type == "MailboxFull" else None
    if what.bounce_type != "Permanent":
        return None
    if what.bounce_sub_type in _LISTED:
        return "bounce"
    match verdict(recipient.status or recipient.diagnostic):
        case "gone" | "open":
            return "bounce"
        case "full":
            return "mailbox_full"
        case _:
            return None


def _detail(kind: str, what: _What) -> str:
    if kind == "Bounce":
        first = what.bounced_recipients[0]
        words = (what.bounce_type, what.bounce_sub_type, code_of(f"{first.status} {first.diagnostic}"))
        return "/".join(word for word in words if word)
    if kind == "Complaint":
        return what.complaint_sub_type or what.complaint_feedback_type or ""
    return what.delay_type if kind == "DeliveryDelay" else ""


def _reference(mail: _Mail) -> str:
    """The tag; a mail that came to SES by another way has the header."""
    tagged = mail.tags.get(TAG)
    if tagged:
        return tagged[0]
    return next((h.value.strip() for h in mail.headers if h.name.casefold() == HEADER.casefold()), "")


def _ms(text: str) -> int:
    """Raises ValueError."""
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError("no zone")
    return round(at.timestamp() * 1000)


_kind = msgspec.json.Decoder(_Kind).decode
_decode = msgspec.json.Decoder(_Record).decode
