"""What SES and SendGrid take as a request to send, and what they say of one that they do not take.

Amazon SES API v2, "SendEmail"; Twilio SendGrid, "Mail Send" with its list of errors. Their checks of form, not of
accounts: one recipient, as our adapters send.
"""

import base64
import binascii
import email
import email.policy
import re
from email.headerregistry import Address
from email.message import EmailMessage
from typing import Any

import msgspec

_LONGEST_LINE = 1000  # SES, RawMessage
_TAG = re.compile(r"[A-Za-z0-9_-]{1,256}")
_ADDRESS = re.compile(r"[\x21-\x7e]+@[\x21-\x7e]+")
_ARGUMENTS_BYTES = 10_000  # SendGrid, custom_args
# SendGrid, headers: "must not be any of the following reserved headers".
_RESERVED = frozenset(
    {
        *("x-sg-id", "x-sg-eid", "received", "dkim-signature", "content-type", "content-transfer-encoding"),
        *("to", "from", "subject", "reply-to", "cc", "bcc"),
    }
)


class Invalid(ValueError):
    """What the vendor would refuse. `field` as SendGrid names it, empty for SES."""

    def __init__(self, words: str, field: str = "") -> None:
        super().__init__(words)
        self.field = field


class Sending(msgspec.Struct, frozen=True, kw_only=True):
    """One mail to one recipient. `raw` is the mail as its recipient gets it."""

    to: str
    source: str
    subject: str
    raw: bytes
    delivery_id: str
    tags: dict[str, str]


class _Tag(msgspec.Struct, rename="pascal"):
    name: str
    value: str


class _Raw(msgspec.Struct, rename="pascal"):
    data: str


class _Content(msgspec.Struct, rename="pascal"):
    raw: _Raw


class _Destination(msgspec.Struct, rename="pascal"):
    to_addresses: list[str] = []


class _SendEmail(msgspec.Struct, rename="pascal"):
    content: _Content
    destination: _Destination = msgspec.field(default_factory=_Destination)
    from_email_address: str = ""
    email_tags: list[_Tag] = []
    configuration_set_name: str = ""


class _Box(msgspec.Struct):
    email: str
    name: str = ""


class _Personalization(msgspec.Struct):
    to: list[_Box]
    custom_args: dict[str, str] = {}


class _Part(msgspec.Struct):
    type: str
    value: str


class _MailSend(msgspec.Struct, rename={"sender": "from"}):
    personalizations: list[_Personalization]
    sender: _Box
    subject: str
    content: list[_Part]
    headers: dict[str, str] = {}
    reply_to: _Box | None = None


def send_email(body: bytes) -> Sending:
    """SendEmail with raw content. Raises Invalid, with the words of a BadRequestException."""
    try:
        request = _send_email(body)
        raw = base64.b64decode(request.content.raw.data, validate=True)
    except (msgspec.DecodeError, binascii.Error) as error:
        raise Invalid(str(error)) from None
    to = request.destination.to_addresses
    if len(to) != 1 or not _ADDRESS.fullmatch(to[0]):
        raise Invalid("Missing final '@domain'")
    if any(not _TAG.fullmatch(text) for tag in request.email_tags for text in (tag.name, tag.value)):
        raise Invalid("Invalid tag: only ASCII letters, digits, _ and -, at most 256")
    if any(len(line) > _LONGEST_LINE for line in raw.split(b"\n")):
        raise Invalid("A line of the message is longer than 1000 characters")
    mail = email.message_from_bytes(raw, policy=email.policy.SMTP)
    if not mail["From"] or mail.defects:
        raise Invalid("The message is no MIME message")
    tags = {tag.name: tag.value for tag in request.email_tags}
    if request.configuration_set_name:
        tags["ses:configuration-set"] = request.configuration_set_name
    return _sending(mail, to=to[0], source=request.from_email_address, raw=raw, tags=tags)


def mail_send(body: bytes) -> Sending:
    """mail/send. Raises Invalid with the field."""
    try:
        request = _mail_send(body)
    except msgspec.ValidationError as error:
        raise Invalid("Bad Request", _field(str(error))) from None
    except msgspec.DecodeError:
        raise Invalid("Bad Request") from None
    if len(request.personalizations) != 1 or len(request.personalizations[0].to) != 1:
        raise Invalid("There has to be one personalization with one recipient here", "personalizations")
    (envelope,) = request.personalizations
    _check(request, envelope)
    return Sending(
        to=envelope.to[0].email,
        source=request.sender.email,
        subject=request.subject,
        raw=_as_mail(request, envelope),
        delivery_id=_delivery_id(request.headers.get("Message-ID", "")),
        tags=envelope.custom_args,
    )


def _check(request: _MailSend, envelope: _Personalization) -> None:
    if not _ADDRESS.fullmatch(envelope.to[0].email):
        raise Invalid("Does not contain a valid address.", "personalizations.0.to.0.email")
    if not _ADDRESS.fullmatch(request.sender.email):
        raise Invalid("Does not contain a valid address.", "from.email")
    if not request.subject:
        raise Invalid("The subject is required.", "subject")
    if not request.content or any(not part.value for part in request.content):
        raise Invalid("The content value must be a string at least one character in length.", "content.0.value")
    if [p.type for p in request.content] not in (["text/plain"], ["text/html"], ["text/plain", "text/html"]):
        raise Invalid("The text/plain content comes first.", "content")
    for name in request.headers:
        if name.lower() in _RESERVED:
            raise Invalid("The header is reserved.", f"headers.{name}")
    if sum(len(k.encode()) + len(v.encode()) for k, v in envelope.custom_args.items()) >= _ARGUMENTS_BYTES:
        raise Invalid("The custom arguments are too large.", "personalizations.0.custom_args")


def _as_mail(request: _MailSend, envelope: _Personalization) -> bytes:
    """What SendGrid makes of it. A line break in a header is refused."""
    mail = EmailMessage(policy=email.policy.SMTP)
    first, *others = request.content
    mail.set_content(first.value, subtype=first.type.partition("/")[2])
    for part in others:
        mail.add_alternative(part.value, subtype=part.type.partition("/")[2])
    try:
        mail["From"] = _address(request.sender)
        mail["To"] = envelope.to[0].email
        if request.reply_to is not None:
            mail["Reply-To"] = _address(request.reply_to)
        mail["Subject"] = request.subject
        for name, value in request.headers.items():
            mail[name] = value
    except (ValueError, IndexError):
        raise Invalid("Bad Request", "headers") from None
    return mail.as_bytes()


def _address(box: _Box) -> Address:
    """A name in quotes is the name within them."""
    quoted = len(box.name) > 1 and box.name[0] == box.name[-1] == '"'
    return Address(re.sub(r"\\(.)", r"\1", box.name[1:-1]) if quoted else box.name, addr_spec=box.email)


def _sending(mail: EmailMessage, **known: Any) -> Sending:
    return Sending(subject=str(mail["Subject"] or ""), delivery_id=_delivery_id(str(mail["Message-ID"] or "")), **known)


def _delivery_id(message_id: str) -> str:
    return message_id.strip().strip("<>").rpartition("@")[0]


def _field(words: str) -> str:
    """`personalizations` of "... - at `$.personalizations[...].to`", or of "... missing required field `subject`"."""
    found = re.search(r"required field `(\w+)`|at `\$\.(\w+)", words)
    return "" if found is None else found[1] or found[2]


_send_email = msgspec.json.Decoder(_SendEmail).decode
_mail_send = msgspec.json.Decoder(_MailSend).decode
