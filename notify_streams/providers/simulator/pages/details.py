"""One message: what its recipient sees, what its provider was told, what was said of it later."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from notify_streams.domain import segments
from notify_streams.providers.simulator.hooks import UNSIGNED
from notify_streams.providers.simulator.log import KEPT, Entry, Log, Mail

from . import says
from .listing import reference
from .rendering import page
from .times import ago, took

_HEADERS = (
    *("From", "To", "Date", "Message-ID", "Auto-Submitted", "Content-Language", "Reply-To"),
    *("List-Unsubscribe", "List-Unsubscribe-Post"),
)
_ENCODINGS = {"gsm7": "GSM 7-bit", "ucs2": "UCS-2"}
_MASKED = "…"


class Receipt(msgspec.Struct, frozen=True):
    """One post. `word` is what it said, `answer` what came back."""

    at: str
    ago: str
    word: str
    where: str
    answer: str


def message(log: Log, entry: Entry) -> str:
    """Its page."""
    mail, followed = log.mail(entry.n), log.followed.get(entry.n)
    now = datetime.now(UTC)
    posts = followed.posts if followed is not None else []
    same = [e for e in log.recent if e.provider == entry.provider and reference(e) == reference(entry) != ""]
    return page(
        "message.html",
        entry=entry,
        ago=ago(entry.at, now),
        took=took(followed.took_s if followed is not None else None),
        kind=says.CHANNELS.get(entry.provider, "webhook"),
        says="" if mail is None else says.line(entry.provider, mail.content),
        mail=mail,
        same=[e for e in same if e.n != entry.n],
        receipts=[
            Receipt(p.at, ago(p.at, now), says.receipt(entry.provider, p.body), p.url.partition("?")[0], p.answer)
            for p in posts
        ],
        **({} if mail is None else _parts(mail)),
    )


def html_part(mail: Mail) -> str:
    """The HTML as it came, for the frame."""
    part = says.mail_of(mail.content).get_body(("html",))
    return str(part.get_content()) if part is not None else ""


def missing() -> str:
    """For a message that is no longer in memory."""
    return page("missing.html", kept=KEPT)


def _parts(mail: Mail) -> dict[str, Any]:
    match says.CHANNELS.get(mail.entry.provider):
        case "mail":
            return _mail(mail)
        case "push":
            card = says.card_of(mail.entry.provider, mail.content)
            return {"card": card, "payload": _pretty(mail.content), "headers": [*mail.headers.items()]}
        case "text":
            return _text(mail)
        case _:
            signed = mail.entry.answer != UNSIGNED
            return {"signed": signed, "payload": _pretty(mail.content), "headers": [*mail.headers.items()]}


def _mail(mail: Mail) -> dict[str, Any]:
    parsed = says.mail_of(mail.content)
    text = parsed.get_body(("plain",))
    return {
        "headers": [(name, str(parsed[name])) for name in _HEADERS if name in parsed],
        "text": text.get_content() if text is not None else "",
        "has_html": parsed.get_body(("html",)) is not None,
    }


def _text(mail: Mail) -> dict[str, Any]:
    fields = says.fields_of(mail.content)
    count = segments.count(fields.get("Body", ""))
    callback, query, _ = fields.get("StatusCallback", "").partition("?")
    return {
        "text": fields.get("Body", ""),
        "sender": fields.get("From") or fields.get("MessagingServiceSid", ""),
        "count": count,
        "encoding": _ENCODINGS[count.encoding],
        "lives_s": fields.get("ValidityPeriod", ""),
        "callback": callback + (f"?{_MASKED}" if query else ""),
    }


def _pretty(content: bytes) -> str:
    try:
        return msgspec.json.format(content, indent=2).decode()
    except (msgspec.DecodeError, UnicodeDecodeError):
        return content.decode("utf-8", "replace")
