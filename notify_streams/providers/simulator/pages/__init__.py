"""What a person sees of the simulator: the mails, and one mail."""

import email
import email.policy
from datetime import UTC, datetime
from email.message import EmailMessage
from functools import lru_cache
from pathlib import Path

import msgspec
from jinja2 import Environment, FileSystemLoader

from notify_streams.providers.simulator.log import KEPT, Entry, Log, Mail

FOLDER = Path(__file__).parent
_SHOWN = 200
_HEADERS = ("From", "To", "Date", "Message-ID", "Auto-Submitted", "Content-Language", "Reply-To", "List-Unsubscribe")
_environment = Environment(loader=FileSystemLoader(FOLDER), autoescape=True, trim_blocks=True, lstrip_blocks=True)


class Row(msgspec.Struct, frozen=True):
    """One line of the list."""

    entry: Entry
    ago: str
    subject: str
    kept: bool


def listing(log: Log, query: str, show: str) -> str:
    """The newest first, narrowed by recipient or subject and by what became of them."""
    mails = {m.entry.n: m for m in log.mails}
    now = datetime.now(UTC)
    rows: list[Row] = []
    for entry in reversed(log.recent):
        subject = _subject(mails[entry.n]) if entry.n in mails else ""
        wanted = show in ("all", entry.event) and query.lower() in f"{entry.to} {subject} {entry.delivery_id}".lower()
        if wanted:
            rows.append(Row(entry, ago(entry.at, now), subject, entry.n in mails))
        if len(rows) == _SHOWN:
            break
    return _environment.get_template("list.html").render(
        rows=rows, counts=log.counts, query=query, show=show, last=log.recent[-1].n if log.recent else 0, path=log.path
    )


def mail(mail: Mail) -> str:
    """One mail: headers, text, and the HTML in a frame that may do nothing."""
    parsed = _parsed(mail)
    text = parsed.get_body(("plain",))
    return _environment.get_template("mail.html").render(
        entry=mail.entry,
        ago=ago(mail.entry.at, datetime.now(UTC)),
        subject=parsed.get("Subject", ""),
        headers=[(name, str(parsed[name])) for name in _HEADERS if name in parsed],
        text=text.get_content() if text is not None else "",
        has_html=parsed.get_body(("html",)) is not None,
    )


def html_part(mail: Mail) -> str:
    """The HTML as it came, for the frame."""
    part = _parsed(mail).get_body(("html",))
    return str(part.get_content()) if part is not None else ""


def missing() -> str:
    """For a mail that is no longer in memory."""
    return _environment.get_template("missing.html").render(kept=KEPT)


def ago(at: str, now: datetime) -> str:
    """A past instant in words: "just now", "12 s ago", "3 min ago", "2 h ago", "4 d ago"."""
    seconds = int((now - datetime.fromisoformat(at)).total_seconds())
    if seconds < 2:
        return "just now"
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length} {unit} ago"
    return f"{seconds} s ago"


def _parsed(mail: Mail) -> EmailMessage:
    return email.message_from_bytes(mail.content, policy=email.policy.default)


@lru_cache(KEPT)
def _subject(mail: Mail) -> str:
    head = mail.content[: mail.content.find(b"\r\n\r\n") + 2]
    parsed = email.message_from_bytes(head, policy=email.policy.default)
    return str(parsed.get("Subject", ""))
