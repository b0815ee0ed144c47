"""What SendGrid says later of a mail ("Event Webhook Reference", Twilio SendGrid). Pure: ids and time are arguments."""

from collections.abc import Mapping
from typing import Any, Literal, get_args

import msgspec
import orjson
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

from notify_streams.providers.sendgrid.signature import SIGNATURE, TIMESTAMP, signed

Word = Literal["processed", "delivered", "bounced", "full", "blocked", "delayed", "complained", "opened"]

WORDS: Mapping[str, Word] = {word: word for word in get_args(Word)}
_EVENTS: dict[Word, dict[str, Any]] = {
    "processed": {"event": "processed"},
    "delivered": {"event": "delivered", "response": "250 2.0.0 OK", "ip": "192.0.2.25", "tls": 1},
    "bounced": {
        "event": "bounce",
        "type": "bounce",
        "status": "5.1.1",
        "reason": "550 5.1.1 The email account does not exist",
        "bounce_classification": "Invalid Address",
    },
    "full": {
        "event": "bounce",
        "type": "bounce",
        "status": "5.2.2",
        "reason": "552 5.2.2 The mailbox is full",
        "bounce_classification": "Mailbox Unavailable",
    },
    "blocked": {
        "event": "bounce",
        "type": "blocked",
        "status": "5.7.1",
        "reason": "554 5.7.1 Blocked",
        "bounce_classification": "Reputation",
    },
    "delayed": {"event": "deferred", "response": "451 4.4.1 Try again later", "attempt": "1"},
    "complained": {"event": "spamreport"},
    "opened": {"event": "open", "useragent": "Mozilla/5.0", "ip": "192.0.2.1", "sg_machine_open": False},
}


class Mail(msgspec.Struct, frozen=True):
    """A mail that SendGrid has taken. `message_id` as in X-Message-Id."""

    message_id: str
    to: str
    custom_args: dict[str, str]


def event(word: Word, mail: Mail, *, event_id: str, at: float) -> dict[str, Any]:
    """One event. `at` in seconds; custom arguments stand beside the event's own members."""
    return {
        **mail.custom_args,
        "email": mail.to,
        "timestamp": int(at),
        "smtp-id": f"<{mail.message_id}@geopod-ismtpd-0>",
        "sg_event_id": event_id,
        "sg_message_id": f"{mail.message_id}.recvd-0-1-0.0",
        **_EVENTS[word],
    }


def post(events: list[dict[str, Any]], key: EllipticCurvePrivateKey, *, at: float) -> tuple[bytes, dict[str, str]]:
    """Body and headers of one post, signed. SendGrid's bodies end with a line break, and it is signed too."""
    body = orjson.dumps(events) + b"\r\n"
    stamp = str(int(at))
    return body, {"Content-Type": "application/json", SIGNATURE: signed(key, stamp, body), TIMESTAMP: stamp}
