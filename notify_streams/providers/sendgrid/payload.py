"""The body of a mail/send (Twilio SendGrid, "Mail Send"): one recipient, our headers, the reference as custom argument.

From, Reply-To, Subject and what describes the body are fields: the same as headers would be refused. Parts must not be
empty, and text comes before HTML ("Mail Send", Errors). SendGrid's own unsubscribe footer and header stay off.
"""

from typing import Any

import orjson

from notify_streams.domain.references import TAG
from notify_streams.domain.rendered import RenderedEmail
from notify_streams.ports import Message
from notify_streams.providers.mail import headers
from notify_streams.providers.mail.addresses import Mailbox, Sender, mailbox
from notify_streams.providers.mail.words import one_line


def body(message: Message, rendered: RenderedEmail, sender: Sender) -> bytes:
    """Raises addresses.Malformed for a recipient that is no mailbox."""
    parts = (("text/plain", rendered.text), ("text/html", rendered.html))
    envelope: dict[str, Any] = {"to": [{"email": mailbox(message.address)}]}
    if message.reference:
        envelope["custom_args"] = {TAG: message.reference}
    request: dict[str, Any] = {
        "personalizations": [envelope],
        "from": _box(sender.from_),
        "subject": _whole(one_line(rendered.subject)),
        "content": [{"type": kind, "value": _whole(text)} for kind, text in parts if text],
        "headers": headers.own(message, sender),
        "tracking_settings": {"subscription_tracking": {"enable": False}},
    }
    if sender.reply_to is not None:
        request["reply_to"] = _box(sender.reply_to)
    return orjson.dumps(request)


def _box(box: Mailbox) -> dict[str, str]:
    """A name with a comma or semicolon goes quoted: else it is read as several (sendgrid-python, issue 578)."""
    if not box.name:
        return {"email": box.address}
    quoted = box.name.replace("\\", "\\\\").replace('"', '\\"')
    return {"email": box.address, "name": f'"{quoted}"' if {",", ";"} & set(box.name) else box.name}


def _whole(text: str) -> str:
    """Without halves of characters, which no JSON can hold."""
    return text.encode("utf-8", "replace").decode()
