"""What goes over SMTP: the envelope's two addresses and the mail, dots stuffed (RFC 5321, 4.5.2)."""

import msgspec

from notify_streams.domain.rendered import RenderedEmail
from notify_streams.ports import Message
from notify_streams.providers.mail import mime
from notify_streams.providers.mail.addresses import Sender, mailbox


class Envelope(msgspec.Struct, frozen=True):
    """One mail for one recipient. `content` lacks the final dot."""

    sender: str
    to: str
    content: bytes


def envelope(message: Message, rendered: RenderedEmail, sender: Sender, *, now: int) -> Envelope:
    """Raises addresses.Malformed for a recipient that cannot stand in one. `now` in ms."""
    to = mailbox(message.address)
    mail = mime.mail(message, rendered, sender, to=to, now=now)
    return Envelope(sender.from_.address, to, _stuffed(mail))


def _stuffed(mail: bytes) -> bytes:
    return (b"." + mail if mail.startswith(b".") else mail).replace(b"\r\n.", b"\r\n..")
