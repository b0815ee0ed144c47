"""A mail as bytes: RFC 5322 headers, text and HTML as multipart/alternative, nothing a value could break out of."""

import binascii
import email.utils
from functools import lru_cache

from notify_streams.domain.rendered import RenderedEmail
from notify_streams.ports import Message
from notify_streams.providers.mail import headers
from notify_streams.providers.mail.addresses import Sender, header
from notify_streams.providers.mail.words import words


def mail(message: Message, rendered: RenderedEmail, sender: Sender, *, to: str, now: int) -> bytes:
    """The whole mail with CRLF line ends, in ASCII but for `to`, which is from `addresses.mailbox`. `now` in ms."""
    boundary = f"=_{message.delivery_id}"
    head = {"From": header(sender.from_, "From"), "To": to}
    if sender.reply_to is not None:
        head["Reply-To"] = header(sender.reply_to, "Reply-To")
    head |= {"Subject": words(rendered.subject, len("Subject: ")), "Date": _date(now // 1000)}
    head |= headers.own(message, sender)
    head |= {"MIME-Version": "1.0", "Content-Type": f'multipart/alternative;\r\n boundary="{boundary}"'}
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    parts = (("plain", rendered.text), ("html", rendered.html))
    body = b"".join(_part(boundary, kind, text) for kind, text in parts)
    return lines.encode() + b"\r\n" + body + f"--{boundary}--\r\n".encode()


def _part(boundary: str, kind: str, text: str) -> bytes:
    """One alternative in quoted-printable: readable on the wire, lines of at most 76 characters, no bare dot or CR."""
    unix = text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace")
    quoted = binascii.b2a_qp(unix, istext=True).replace(b"\n", b"\r\n")
    head = f"--{boundary}\r\nContent-Type: text/{kind}; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable"
    return head.encode() + b"\r\n\r\n" + quoted + (b"" if quoted.endswith(b"\r\n") else b"\r\n")


@lru_cache(2)
def _date(second: int) -> str:
    return email.utils.formatdate(second)
