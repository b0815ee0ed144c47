"""Twilio's callbacks: what became of a text message, and texts that people send back.

Twilio, "Security" (X-Twilio-Signature: HMAC-SHA1 over the URL and the sorted parameters), "Track Outbound Message
Status", "Twilio's Request to your Incoming Message Webhook URL", "Error and Warning Dictionary". Twilio has no event
ids and no times (the carrier's `RawDlrDoneDate` has no zone): message and status make an event, at its arrival.
"""

import base64
import hmac
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha1
from urllib.parse import urlsplit, urlunsplit

from notify_streams.domain import opt_out
from notify_streams.gateway.receipts.said import (
    AddressWord,
    Callback,
    Event,
    Ignored,
    Item,
    Refusal,
    Text,
    unknown,
    unsigned,
)
from schemas.addresses import Suppression
from schemas.receipts import ReceiptState

SIGNATURE = "x-twilio-signature"
REFERENCE = "ref"
Fields = Sequence[tuple[str, str]]
_STATES: dict[str, ReceiptState] = {
    "accepted": "queued",
    "scheduled": "queued",
    "queued": "queued",
    "sending": "queued",
    "sent": "sent",
    "delivered": "delivered",
    "read": "read",
    "undelivered": "failed",
    "failed": "failed",
    "canceled": "failed",
}
# 21610: the recipient has replied STOP. 30005: there is no such handset. What a carrier blocks or filters (30004,
# 30007), an unreachable one (30003, 30006) and what it does not explain (30008) say nothing against the number.
_HELD: dict[str, Suppression] = {"21610": "opt_out", "30005": "bounce"}
_CODE = re.compile(r"[0-9]{1,6}", re.ASCII)
_ASKED = {"STOP": "stop", "START": "start"}
_PORTS = {"https": 443, "http": 80}


def read(callback: Callback, fields: Fields, auth_token: str) -> list[Item] | Refusal:
    """The signature first. One callback is one event."""
    refused = _why_unsigned(callback, fields, auth_token)
    if refused is not None:
        return unsigned(refused)
    said = dict(fields)
    message = said.get("MessageSid") or said.get("SmsSid") or ""
    if not message:
        return unknown("this is neither the status of a message nor one that was sent to us: it names no message")
    status = said.get("MessageStatus") or said.get("SmsStatus") or ""
    if "Body" in said and status in ("", "received", "receiving"):
        return [_text(said, message)]
    if "MessageStatus" not in said:
        return unknown("this is neither the status of a message nor one that was sent to us")
    return [_status(said, message, status, callback.query.get(REFERENCE, ""))]


def signature(auth_token: str, url: str, fields: Iterable[tuple[str, str]]) -> str:
    """As Twilio makes it: each name with each of its different values, sorted."""
    text = url + "".join(name + value for name, value in sorted(set(fields)))
    return base64.b64encode(hmac.digest(auth_token.encode(), text.encode(errors="replace"), sha1)).decode()


def _why_unsigned(callback: Callback, fields: Fields, auth_token: str) -> str | None:
    given = callback.headers.get(SIGNATURE)
    if given is None:
        return "the request carries no X-Twilio-Signature"
    made = [signature(auth_token, url, fields).encode() for url in _spellings(callback.url)]
    shown = given.encode(errors="replace")
    if not any(hmac.compare_digest(one, shown) for one in made):
        return "the signature is not that of the URL and its parameters"
    return None


def _spellings(url: str) -> tuple[str, ...]:
    """With and without the port: Twilio signs one of them, not always the one that it calls."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme, 443)
    except ValueError:  # a Host header that is none
        return (url,)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    return tuple(urlunsplit(parts._replace(netloc=place)) for place in (host, f"{host}:{port}"))


def _status(said: Mapping[str, str], message: str, status: str, reference: str) -> Item:
    state = _STATES.get(status)
    if state is None:
        return Ignored()
    given = said.get("ErrorCode", "")
    code = given if _CODE.fullmatch(given) and int(given) else ""
    reason = _HELD.get(code) if state == "failed" else None
    return Event(
        id=f"{message}/{status}",
        state=state,
        reference=reference,
        message_id=message,
        permanent=reason == "bounce",
        detail=code,
        held=() if reason is None else (AddressWord(said.get("To", ""), reason),),
    )


def _text(said: Mapping[str, str], message: str) -> Text:
    """Twilio says itself what its own lists made of the word, where that is switched on (`OptOutType`)."""
    asked = said.get("OptOutType", "").upper()
    asks = opt_out.asks(said["Body"])
    if asked in _ASKED:
        asks = "stop" if asked == "STOP" else "start"
    return Text(id=message, sender=said.get("From", ""), text=said["Body"], asks=asks)
