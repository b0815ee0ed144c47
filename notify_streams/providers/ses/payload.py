"""The body of SendEmail with raw content (Amazon SES API v2, "SendEmail"): the headers are ours.

SES puts its own Message-ID and Date in their place ("Amazon SES header fields"): what is the same on every attempt is
the tag, and X-Notify-Reference. Tags hold letters, digits, `_` and `-`, at most 256; so do signed references.
"""

import base64
from typing import Any

import orjson

from notify_streams.domain.references import TAG
from notify_streams.domain.rendered import RenderedEmail
from notify_streams.ports import Message
from notify_streams.providers.mail import mime
from notify_streams.providers.mail.addresses import Malformed, Sender, mailbox


def body(message: Message, rendered: RenderedEmail, sender: Sender, *, configuration_set: str, now: int) -> bytes:
    """Raises addresses.Malformed for a recipient that SES cannot take ("Destination": no SMTPUTF8). `now` in ms."""
    to = mailbox(message.address)
    if not to.isascii():
        raise Malformed("SES takes no address beyond ASCII")
    raw = mime.mail(message, rendered, sender, to=to, now=now)
    request: dict[str, Any] = {
        "FromEmailAddress": sender.from_.address,
        "Destination": {"ToAddresses": [to]},
        "Content": {"Raw": {"Data": base64.b64encode(raw).decode()}},
    }
    if message.reference:
        request["EmailTags"] = [{"Name": TAG, "Value": message.reference}]
    if configuration_set:
        request["ConfigurationSetName"] = configuration_set
    return orjson.dumps(request)
