"""The headers that every mail of ours has, whoever carries it. A relay that signs (DKIM) must cover all of them.

One-click unsubscribe: RFC 8058 3.1. Auto-Submitted: RFC 3834 5. Feedback-ID: Google's "Feedback Loop" (up to three
groups of mails, then a sender of 5 to 15 characters that stays the same; nothing of a person).
"""

import re

from notify_streams.domain.references import HEADER
from notify_streams.ports import Message
from notify_streams.providers.mail.addresses import Sender
from notify_streams.providers.mail.words import one_line

_GROUP = re.compile(r"[^A-Za-z0-9._-]+")
_SENDER_ID = "notify-streams"


def message_id(message: Message, sender: Sender) -> str:
    """The same for every attempt at a delivery."""
    return f"<{message.delivery_id}@{sender.from_.domain}>"


def own(message: Message, sender: Sender) -> dict[str, str]:
    """Beside From, To, Reply-To, Subject, Date and what describes the body; each value is one line of ASCII."""
    headers = {
        "Message-ID": message_id(message, sender),
        "Auto-Submitted": "auto-generated",
        "Content-Language": _GROUP.sub("", message.locale),
        "Feedback-ID": ":".join((*map(group, (message.type, message.category, message.tenant)), _SENDER_ID)),
    }
    if message.reference:
        headers[HEADER] = message.reference
    if message.unsubscribe is not None:
        headers["List-Unsubscribe"] = f"<{one_line(message.unsubscribe)}>"
        headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    return headers


def group(name: str) -> str:
    """A name that counts complaints: letters, digits, dot, dash and underscore."""
    return _GROUP.sub("-", name) or "none"
