"""What Twilio takes as a message, what it says of one, and how it signs what it says later.

Twilio, "Messages resource", "Test Credentials" (numbers that are refused with a code of their own), "Error and Warning
Dictionary", "Track the Message Status of Outbound Messages", "Receive and Reply to Messages", "Security".
"""

import base64
import hmac
import re
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from hashlib import sha1
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import msgspec

from notify_streams.domain import segments

API = "2010-04-01"
_LONGEST = 1600
_LONGEST_LIFE_S = 36_000
_E164 = re.compile(r"\+[1-9][0-9]{6,14}")
_SENDER = re.compile(r"\+[1-9][0-9]{6,14}|[0-9]{3,8}|(?=.*[A-Za-z])[A-Za-z0-9 +_&.-]{1,11}")
_NUMBER = re.compile(r"\+?[0-9]+")
_MAGIC = {
    "+15005550001": 21211,
    "+15005550002": 21612,
    "+15005550003": 21408,
    "+15005550004": 21610,
    "+15005550009": 21614,
}
# A number that ends in one of these is taken, and the carrier says no with it.
_CARRIER = re.compile(r"3000[3-8]$")
_WORDS = {
    20003: "Authenticate",
    20404: "The requested resource was not found",
    20429: "Too Many Requests",
    21211: "Invalid 'To' Phone Number",
    21212: "Invalid From Number (caller ID)",
    21408: "Permission to send an SMS has not been enabled for the region indicated by the 'To' number",
    21602: "Message body is required.",
    21603: "A 'From' phone number is required.",
    21604: "A 'To' phone number is required.",
    21609: "The StatusCallback URL is not a valid URL.",
    21610: "Attempt to send to unsubscribed recipient",
    21612: "The 'To' phone number is not currently reachable via SMS",
    21614: "'To' number is not a valid mobile number",
    21617: "The concatenated message body exceeds the 1600 character limit",
}


class Account(msgspec.Struct, frozen=True):
    """Whose messages these are."""

    sid: str
    token: str


class Invalid(ValueError):
    """What Twilio would refuse, by its own code."""

    def __init__(self, code: int, status: int = 400) -> None:
        super().__init__(_WORDS.get(code, ""))
        self.code, self.status = code, status


class Text(msgspec.Struct, frozen=True, kw_only=True):
    """One message that was taken. `callback` is where its receipts go, empty for nowhere."""

    sid: str
    to: str
    sender: str
    service: str
    body: str
    callback: str

    @property
    def reference(self) -> str:
        """What its sender wants to hear with receipts."""
        return parse_qs(urlsplit(self.callback).query).get("ref", [""])[0]


def authorize(account: Account, sid: str, authorization: str) -> None:
    """Raises Invalid for credentials that are not the account's, and for another account."""
    expected = "Basic " + base64.b64encode(f"{account.sid}:{account.token}".encode()).decode()
    if not hmac.compare_digest(authorization.encode(), expected.encode()):
        raise Invalid(20003, 401)
    if sid != account.sid:
        raise Invalid(20404, 404)


def read(form: bytes) -> Text:
    """Raises Invalid."""
    try:
        fields = dict(parse_qsl(form.decode(), keep_blank_values=True, strict_parsing=True))
    except ValueError:
        fields = {}
    _check(fields)
    return Text(
        sid="SM" + secrets.token_hex(16),
        to=fields["To"],
        sender=fields.get("From", ""),
        service=fields.get("MessagingServiceSid", ""),
        body=fields["Body"],
        callback=fields.get("StatusCallback", ""),
    )


def created(text: Text, account: Account, now: float) -> dict[str, Any]:
    """The answer to one that was taken; a Messaging Service has not chosen its sender yet."""
    at = format_datetime(datetime.fromtimestamp(now, UTC))
    path = f"/{API}/Accounts/{account.sid}/Messages/{text.sid}"
    return {
        "account_sid": account.sid,
        "api_version": API,
        "body": text.body,
        "date_created": at,
        "date_sent": None,
        "date_updated": at,
        "direction": "outbound-api",
        "error_code": None,
        "error_message": None,
        "from": text.sender or None,
        "messaging_service_sid": text.service or None,
        "num_media": "0",
        "num_segments": "0" if text.service else str(segments.count(text.body).segments),
        "price": None,
        "price_unit": None,
        "sid": text.sid,
        "status": "accepted" if text.service else "queued",
        "subresource_uris": {"media": f"{path}/Media.json"},
        "to": text.to,
        "uri": f"{path}.json",
    }


def error(code: int, status: int) -> dict[str, Any]:
    """As all of Twilio's errors look."""
    more = f"https://www.twilio.com/docs/errors/{code}"
    return {"code": code, "message": _WORDS.get(code, "Error"), "more_info": more, "status": status}


def magic(to: str) -> int | None:
    """The code with which such a number is always refused."""
    return _MAGIC.get(to)


def fate(to: str) -> Sequence[tuple[str, str]]:
    """The statuses that such a number comes to, with their error codes."""
    code = _CARRIER.search(to)
    last = ("undelivered", code[0]) if code else ("delivered", "")
    return [("queued", ""), ("sent", ""), last]


def status(text: Text, account: Account, word: str, code: str, now: float) -> dict[str, str]:
    """The parameters of a status callback."""
    fields = {
        "MessageSid": text.sid,
        "SmsSid": text.sid,
        "MessageStatus": word,
        "SmsStatus": word,
        "AccountSid": account.sid,
        "ApiVersion": API,
        "To": text.to,
    }
    if text.sender:
        fields["From"] = text.sender
    if text.service:
        fields["MessagingServiceSid"] = text.service
    if code:
        fields["ErrorCode"] = code
    if word in ("delivered", "undelivered"):
        fields["RawDlrDoneDate"] = datetime.fromtimestamp(now, UTC).strftime("%y%m%d%H%M")
    return fields


def inbound(account: Account, sender: str, to: str, body: str) -> dict[str, str]:
    """The parameters of a text that somebody has sent to one of the account's numbers."""
    sid = "SM" + secrets.token_hex(16)
    return {
        "MessageSid": sid,
        "SmsSid": sid,
        "SmsMessageSid": sid,
        "AccountSid": account.sid,
        "ApiVersion": API,
        "From": sender,
        "To": to,
        "Body": body,
        "NumMedia": "0",
        "SmsStatus": "received",
        "NumSegments": str(segments.count(body).segments),
    }


def signature(token: str, url: str, fields: Mapping[str, str]) -> str:
    """X-Twilio-Signature: over the URL as it is called, and each parameter's name and value, sorted by name."""
    text = url + "".join(name + fields[name] for name in sorted(fields))
    return base64.b64encode(hmac.new(token.encode(), text.encode(), sha1).digest()).decode()


def signed(account: Account, url: str, fields: Mapping[str, str]) -> tuple[bytes, dict[str, str]]:
    """Body and headers of a callback to this URL."""
    headers = {
        "Content-Type": "application/x-www-form-urlencoded; charset=UTF-8",
        "X-Twilio-Signature": signature(account.token, url, fields),
        "I-Twilio-Idempotency-Token": secrets.token_hex(16),
        "User-Agent": "TwilioProxy/1.1",
    }
    return urlencode(fields).encode(), headers


def _check(fields: Mapping[str, str]) -> None:
    if not fields.get("To"):
        raise Invalid(21604)
    if not _E164.fullmatch(fields["To"]):
        raise Invalid(21211)
    if not fields.get("From") and not fields.get("MessagingServiceSid"):
        raise Invalid(21603)
    sender = fields.get("From", "")
    if sender and not _SENDER.fullmatch(sender):
        raise Invalid(21212)
    if sender and fields["To"].startswith("+1") and not _NUMBER.fullmatch(sender):
        raise Invalid(21612)
    if not fields.get("Body"):
        raise Invalid(21602)
    if len(fields["Body"]) > _LONGEST:
        raise Invalid(21617)
    period = fields.get("ValidityPeriod", "1")
    if not period.isdigit() or not 1 <= int(period) <= _LONGEST_LIFE_S:
        raise Invalid(400)
    callback = fields.get("StatusCallback", "")
    if callback and (urlsplit(callback).scheme not in ("http", "https") or "_" in (urlsplit(callback).hostname or "_")):
        raise Invalid(21609)
