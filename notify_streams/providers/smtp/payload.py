"""A mail as bytes: RFC 5322 headers, text and HTML as multipart/alternative, nothing a value could break out of."""

import binascii
import email.utils
import re
import time
from email.headerregistry import Address
from functools import lru_cache

import msgspec

from notify_streams.domain.rendered import RenderedEmail
from notify_streams.ports import Message

_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]+")
# RFC 5321 4.1.2 without quoted local parts and address literals; letters of any script (RFC 6531).
_MAILBOX = re.compile(r"[^\s\x00-\x1f\x7f\"(),:;<>@\[\\\]]+@[^\s\x00-\x1f\x7f\"(),:;<>@\[\\\]]+")
_LONGEST_MAILBOX = 254
_WORD = 45  # bytes of text in an encoded word: 75 characters at most (RFC 2047, 2)
_PLAIN = 68  # characters of a header that needs no folding


class Sender(msgspec.Struct, frozen=True):
    """Who mails are from: the header as it is sent, the envelope's address, and the domain for Message-IDs."""

    header: str
    address: str
    domain: str


class Malformed(ValueError):
    """An address that cannot stand in an envelope."""


def sender(setting: str) -> Sender:
    """From `Name <mailbox>`, the name quoted or not, or from a bare mailbox. Raises Malformed."""
    name, bracket, rest = setting.rpartition("<")
    address = mailbox(rest.rstrip().removesuffix(">") if bracket else setting.strip())
    name = name.strip()
    if len(name) > 1 and name[0] == name[-1] == '"':
        name = re.sub(r"\\(.)", r"\1", name[1:-1])
    return Sender(display(name, address), address, address.rpartition("@")[2])


def mailbox(address: str) -> str:
    """An address for an envelope, its domain in ASCII (RFC 5891). Raises Malformed."""
    if len(address) > _LONGEST_MAILBOX or not _MAILBOX.fullmatch(address):
        raise Malformed("the address is malformed")
    local, _, domain = address.rpartition("@")
    try:
        return address if domain.isascii() else f"{local}@{domain.encode('idna').decode()}"
    except UnicodeError as error:
        raise Malformed("the address has a malformed domain") from error


def display(name: str, address: str) -> str:
    """A name and its mailbox for From or To: exactly one address, whatever the name (RFC 5322, 3.4)."""
    name = _CONTROL.sub(" ", name).strip()
    if not name:
        return address
    local, _, domain = address.rpartition("@")
    return str(Address(name, local, domain)) if name.isascii() else f"{words(name)} <{address}>"


@lru_cache(4096)
def words(text: str) -> str:
    """A header's text: as it is where it is short and ASCII, else as encoded words, one a line (RFC 2047)."""
    text = _CONTROL.sub(" ", text).strip()
    if text.isascii() and len(text) <= _PLAIN and "=?" not in text:
        return text
    chunks, chunk = [], b""
    for character in text:
        encoded = character.encode("utf-8", "replace")
        if len(chunk) + len(encoded) > _WORD:
            chunks.append(chunk)
            chunk = b""
        chunk += encoded
    return "\r\n ".join(f"=?utf-8?b?{binascii.b2a_base64(c, newline=False).decode()}?=" for c in (*chunks, chunk))


def message_id(mail: Message, from_: Sender) -> str:
    """The same for every attempt at a delivery."""
    return f"<{mail.delivery_id}@{from_.domain}>"


def message(mail: Message, from_: Sender, to: str) -> bytes:
    """The whole mail with CRLF line ends. `to` is from `mailbox`."""
    rendered = mail.rendered
    assert isinstance(rendered, RenderedEmail)
    boundary = f"=_{mail.delivery_id}"
    head = (
        f"From: {from_.header}\r\nTo: {to}\r\nSubject: {words(rendered.subject)}\r\n"
        f"Date: {_date(int(time.time()))}\r\nMessage-ID: {message_id(mail, from_)}\r\n"
        f"Auto-Submitted: auto-generated\r\nContent-Language: {_CONTROL.sub('', mail.locale)}\r\nMIME-Version: 1.0\r\n"
        f'Content-Type: multipart/alternative; boundary="{boundary}"\r\n\r\n'
    )
    parts = (("plain", rendered.text), ("html", rendered.html))
    body = b"".join(_part(boundary, kind, text) for kind, text in parts)
    return head.encode() + body + f"--{boundary}--\r\n".encode()


def _part(boundary: str, kind: str, text: str) -> bytes:
    """One alternative in quoted-printable: readable on the wire, lines of at most 76 characters, no bare dot or CR."""
    unix = text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace")
    encoded = binascii.b2a_qp(unix, istext=True).replace(b"\n", b"\r\n")
    head = f"--{boundary}\r\nContent-Type: text/{kind}; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable"
    return head.encode() + b"\r\n\r\n" + encoded + (b"" if encoded.endswith(b"\r\n") else b"\r\n")


@lru_cache(2)
def _date(second: int) -> str:
    return email.utils.formatdate(second)
