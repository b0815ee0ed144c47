"""SendGrid's Event Webhook: an ECDSA signature over timestamp and raw body, then an array of events.

Twilio SendGrid, "Event Webhook Reference" and "Getting Started with the Event Webhook Security Features". A bounce of
type `blocked`, or one that the receiving server explains by policy (5.7.x), says nothing against the address: SendGrid
reports both (sendgrid/docs#3675).
"""

import base64
import binascii
import re
from typing import Any

import msgspec
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_public_key

from notify_streams.domain.bounces import code_of, verdict
from notify_streams.domain.json_checks import depth_of
from notify_streams.domain.references import TAG
from notify_streams.domain.stamps import why_stale
from notify_streams.gateway.receipts.said import (
    AddressWord,
    Bad,
    Callback,
    Event,
    Ignored,
    Item,
    Refusal,
    unknown,
    unsigned,
)
from schemas.addresses import Suppression
from schemas.receipts import ReceiptState

SIGNATURE = "x-twilio-email-event-webhook-signature"
TIMESTAMP = "x-twilio-email-event-webhook-timestamp"
_AROUND = re.compile(r"-----[A-Z ]+-----|\s")
_DEEPEST = 16
_STATES: dict[str, ReceiptState] = {
    "processed": "queued",
    "deferred": "delayed",
    "delivered": "delivered",
    "bounce": "bounced",
    "dropped": "failed",
    "open": "read",
    "click": "read",
    "spamreport": "complained",
}
# What SendGrid's own lists hold against an address ("dropped", reason). All other reasons judge the message or us.
_DROPPED: dict[str, Suppression] = {
    "bounced address": "bounce",
    "invalid": "bounce",
    "spam reporting address": "complaint",
    "unsubscribed address": "opt_out",
}
# "bounce_classification": the rest (Content, Reputation, Technical, Frequency or Volume Too High, Mailbox Unavailable)
# says nothing final against the address.
_NO_SUCH, _UNSAID = "invalid address", ("", "unclassified")


class _Event(msgspec.Struct, rename={"reference": TAG}):
    """Of the fields those that count; `reference` is our custom argument."""

    email: str
    timestamp: int
    event: str
    reference: str = ""
    sg_event_id: str = ""
    sg_message_id: str = ""
    type: str = ""
    reason: str = ""
    response: str = ""
    status: str = ""
    bounce_classification: str = ""
    sg_machine_open: bool = False


def verification_key(text: str) -> EllipticCurvePublicKey:
    """As the dashboard shows it: DER in base64, or the same as PEM. Raises ValueError."""
    try:
        key = load_der_public_key(base64.b64decode(_AROUND.sub("", text), validate=True))
    except (binascii.Error, ValueError, UnsupportedAlgorithm) as error:
        raise ValueError("is no public key in base64") from error
    if not isinstance(key, EllipticCurvePublicKey) or not isinstance(key.curve, SECP256R1):
        raise ValueError("is no key for ECDSA on P-256")
    return key


def read(callback: Callback, key: EllipticCurvePublicKey) -> list[Item] | Refusal:
    """Signature and time first, over the bytes as they came; then the events, each by itself."""
    refused = _why_unsigned(callback, key)
    if refused is not None:
        return unsigned(refused)
    if depth_of(callback.body, _DEEPEST) > _DEEPEST:
        return unknown(f"nested deeper than {_DEEPEST} levels")
    try:
        events = _array(callback.body)
    except msgspec.DecodeError:
        return unknown("the body is no JSON array of events")
    return [_item(bytes(raw)) for raw in events]


def _why_unsigned(callback: Callback, key: EllipticCurvePublicKey) -> str | None:
    stamp, signature = callback.headers.get(TIMESTAMP), callback.headers.get(SIGNATURE)
    if stamp is None or signature is None:
        return "the request carries no signature of SendGrid's event webhook"
    try:
        key.verify(base64.b64decode(signature, validate=True), stamp.encode() + callback.body, ECDSA(SHA256()))
    except (InvalidSignature, binascii.Error, ValueError):
        return "the signature is not that of timestamp and body"
    return why_stale(stamp, callback.now)


def _item(raw: bytes) -> Item:
    try:
        event = _read(raw)
    except msgspec.DecodeError as error:
        return Bad(raw, str(error))
    if event.event == "unsubscribe":
        return _made(event, "read", "opt_out")  # by a link in the mail
    state = _STATES.get(event.event)
    if state is None or event.sg_machine_open:  # a machine that loads images ahead of the reader has not read it
        return Ignored()
    return _made(event, state, _against(event))


def _read(raw: bytes) -> _Event:
    """A field that is null was not filled in. Raises DecodeError."""
    if b"null" not in raw:
        return _decode(raw)
    given = {name: value for name, value in _object(raw).items() if value is not None}
    return msgspec.convert(given, _Event)


def _made(event: _Event, state: ReceiptState, reason: Suppression | None) -> Event:
    return Event(
        id=event.sg_event_id or f"{event.sg_message_id}/{event.event}/{event.timestamp}/{event.email}",
        state=state,
        reference=event.reference,
        at=event.timestamp * 1000,
        message_id=event.sg_message_id.partition(".")[0] or None,
        permanent=state == "bounced" and reason == "bounce",
        detail=code_of(_said(event)) or (event.type if event.type in ("blocked", "bounce") else ""),
        held=() if reason is None else (AddressWord(event.email, reason),),
    )


def _against(event: _Event) -> Suppression | None:
    match event.event:
        case "spamreport":
            return "complaint"
        case "dropped":
            return _DROPPED.get(event.reason.strip().casefold())
        case "bounce" if event.type != "blocked":
            return _bounced(event)
        case _:
            return None


def _bounced(event: _Event) -> Suppression | None:
    """Both the server's code and SendGrid's class have to allow it; where neither says anything, SendGrid's word holds:
    it is a bounce and no block."""
    classed = event.bounce_classification.strip().casefold()
    match verdict(_said(event)):
        case "full":
            return "mailbox_full"
        case "gone" | "open" if classed in (_NO_SUCH, *_UNSAID):
            return "bounce"
        case _:
            return None


def _said(event: _Event) -> str:
    """The reason quotes the server's answer, which is more exact than a status of x.0.0."""
    inexact = verdict(event.status) == "open"
    return f"{event.reason} {event.response} {event.status}" if inexact else event.status


_array = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode = msgspec.json.Decoder(_Event).decode
_object = msgspec.json.Decoder(dict[str, Any]).decode
