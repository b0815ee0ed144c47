"""What a message says, in one line, whatever the protocol that brought it."""

import email
import email.policy
from email.message import EmailMessage
from functools import lru_cache
from typing import Any, Literal
from urllib.parse import parse_qs

import msgspec

from notify_streams.providers.simulator.log import KEPT, MAIL

Kind = Literal["mail", "push", "text", "webhook"]
CHANNELS: dict[str, Kind] = {
    "smtp": "mail",
    "ses": "mail",
    "sendgrid": "mail",
    "fcm": "push",
    "apns": "push",
    "webpush": "push",
    "twilio": "text",
    "webhook": "webhook",
}
NAMES = {
    "smtp": "SMTP",
    "ses": "SES",
    "sendgrid": "SendGrid",
    "fcm": "FCM",
    "apns": "APNs",
    "webpush": "Web Push",
    "twilio": "Twilio",
    "webhook": "Webhook",
}
Json = dict[str, Any]


class Card(msgspec.Struct, frozen=True):
    """A notification as a device would show it."""

    title: str = ""
    body: str = ""
    link: str = ""
    image: str = ""


@lru_cache(KEPT)
def line(provider: str, content: bytes) -> str:
    """A mail's subject, a notification's title and text, a text, the type of a webhook."""
    if provider in MAIL:
        return _subject(content)
    match CHANNELS.get(provider):
        case "push":
            card = card_of(provider, content)
            return ": ".join(part for part in (card.title, card.body) if part)
        case "text":
            return fields_of(content).get("Body", "")
        case _:
            return _text(json_of(content).get("type"))


def mail_of(content: bytes) -> EmailMessage:
    """All of it."""
    return email.message_from_bytes(content, policy=email.policy.default)


def card_of(provider: str, content: bytes) -> Card:
    """As far as the payload says it."""
    said = json_of(content)
    if provider == "fcm":
        message = _block(said, "message")
        shown = _block(message, "notification")
        link = _block(message, "data").get("link")
        return Card(*map(_text, (shown.get("title"), shown.get("body"), link, shown.get("image"))))
    shown = _block(_block(said, "aps"), "alert") if provider == "apns" else said
    return Card(*map(_text, (shown.get("title"), shown.get("body"), said.get("link"), said.get("image"))))


def json_of(content: bytes) -> Json:
    """The object that it is; an empty one for anything else."""
    try:
        return msgspec.json.decode(content, type=Json)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}


def fields_of(content: bytes) -> dict[str, str]:
    """Of a form."""
    found = parse_qs(content.decode("utf-8", "replace"), keep_blank_values=True)
    return {name: values[0] for name, values in found.items()}


def receipt(provider: str, body: bytes) -> str:
    """The word that a posted receipt brings."""
    if provider == "twilio":
        fields = fields_of(body)
        word = fields.get("MessageStatus") or fields.get("SmsStatus", "")
        return f"{word} {fields.get('ErrorCode', '')}".rstrip()
    if provider == "ses":
        told = json_of(body)
        inner = json_of(_text(told.get("Message")).encode())
        return _text(inner.get("eventType") or told.get("Type"))
    events = [event for event in _list(body) if isinstance(event, dict)]
    return ", ".join(_text(event.get("event")) for event in events)


def _list(body: bytes) -> list[Any]:
    try:
        return msgspec.json.decode(body, type=list[Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return []


def _subject(content: bytes) -> str:
    head = content[: content.find(b"\r\n\r\n") + 2]
    return str(email.message_from_bytes(head, policy=email.policy.default).get("Subject", ""))


def _block(said: Json, name: str) -> Json:
    block = said.get(name)
    return block if isinstance(block, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
