"""What an address of each channel looks like, without asking any network."""

import re
from hashlib import sha256

import msgspec

from notify_streams.domain import urls
from notify_streams.domain.phone_numbers import E164, NoNumber, e164
from schemas.words import Channel

PLATFORMS = ("ios", "android", "web")
_MOST: dict[Channel, int] = {"email": 254, "sms": 16, "webhook": urls.MOST_BYTES, "push": 4096, "inapp": 0}
_NAMES: dict[Channel, str] = {
    "email": "a mailbox",
    "sms": "a phone number",
    "webhook": "a webhook's URL",
    "push": "a device token or subscription",
    "inapp": "the inbox",
}
_LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.IGNORECASE)
# IDNA 2003 makes ss of a sharp s and leaves joiners out, IDNA 2008 does not (RFC 5894, 7.2): another one's domain.
_TWO_WAYS = re.compile("[\u00df\u1e9e\u03c2\u200c\u200d]")
_TOKEN = re.compile(r"[\x21-\x7e]{8,4096}")
_HEX = re.compile(r"[0-9A-Fa-f]{64,}")  # a token of APNs, which are bytes; those of FCM are never hexadecimal


class NoAddress(msgspec.Struct, frozen=True):
    """It is refused, and why; never with the address itself."""

    reason: str


def canonical(channel: Channel, address: str, region: str = "", *, allow_private: bool = False) -> str | NoAddress:
    """How the address is kept, from how its user spelt it: two spellings of a number are one address.

    `region` (ISO 3166-1) is that of phone numbers without a country code. `allow_private`: URLs and subscriptions may
    lead into networks of ours.
    """
    if channel == "sms":
        number = e164(address, region)
        return NoAddress(number.reason) if isinstance(number, NoNumber) else number
    reason = why_no_address(channel, address, allow_private=allow_private)
    return address if reason is None else NoAddress(reason)


def why_no_address(channel: Channel, address: str, *, allow_private: bool = True) -> str | None:
    """What is wrong with it; None when a message can be sent there. Phone numbers are E.164 and nothing else.

    A mailbox has at most 254 bytes (RFC 5321), its domain as it travels; a URL 2,048, a device token or Web Push
    subscription 4,096. `allow_private` as for `canonical`.
    """
    if channel not in ("inapp", "webhook") and len(address.encode()) > _MOST[channel]:
        return f"{_NAMES[channel]} has at most {_MOST[channel]:,} bytes"
    match channel:
        case "email":
            return _why_no_mailbox(address)
        case "sms":
            return None if E164.fullmatch(address) else "a phone number is + and 7 to 15 digits"
        case "webhook":
            return None if urls.may_be_called(address, allow_private=allow_private) else urls.REFUSED
        case "push":
            return _why_no_device(address, allow_private)
        case "inapp":
            return "the inbox has no addresses"


def why_no_endpoint_id(endpoint_id: str) -> str | None:
    """What is wrong with the name of an endpoint; None when it is one, and one that a path can hold.

    1 to 128 characters, no control characters, no slash; `.` and `..` would be taken for steps of a path.
    """
    if not 1 <= len(endpoint_id) <= 128:
        return "an endpoint's id has 1 to 128 characters"
    if "/" in endpoint_id or endpoint_id in (".", ".."):
        return "an endpoint's id has no slash, and is not . or .."
    if any(ord(c) < 32 or 127 <= ord(c) < 160 for c in endpoint_id):
        return "an endpoint's id has no control characters"
    return None


def normalised(channel: Channel, address: str) -> str:
    """How addresses are compared: mailboxes without regard to case or space around them, and by the domain that
    travels, however it is written; a subscription by its URL, a token of APNs without regard to case.
    """
    if channel == "email":
        folded = address.strip().casefold()
        return folded if folded.isascii() else _as_it_travels(folded)
    if channel == "push" and address.startswith("{"):
        try:
            return msgspec.json.decode(address, type=_Subscription).endpoint
        except msgspec.DecodeError:
            return address
    if channel == "push" and _HEX.fullmatch(address):
        return address.lower()
    return address.strip()


def _as_it_travels(mailbox: str) -> str:
    local, at, domain = mailbox.rpartition("@")
    try:
        return local + at + domain.encode("idna").decode().lower()
    except UnicodeError:
        return mailbox


def address_key(channel: Channel, address: str) -> str:
    """The key of an address wherever it must not be read: 32 hex digits, the same for what `normalised` holds equal."""
    return sha256(f"{channel}\0{normalised(channel, address)}".encode()).hexdigest()[:32]


def _why_no_mailbox(address: str) -> str | None:
    local, at, domain = address.rpartition("@")
    if not at or not local or len(local.encode()) > 64:
        return "a mailbox is LOCAL@DOMAIN, with at most 64 bytes before the @"
    if not _LOCAL.fullmatch(local):
        return "the part before the @ has characters that are not taken"
    if _TWO_WAYS.search(domain):
        return "the domain has letters that lead to two different ones: it is taken as it travels, xn--…"
    try:
        sent = domain.encode("idna").decode()
    except UnicodeError:
        return "the domain is none"
    if len(local) + 1 + len(sent) > _MOST["email"]:
        return f"a mailbox has at most {_MOST['email']} bytes, with its domain as it travels"
    labels = sent.split(".")
    if len(labels) < 2 or labels[-1].isdigit() or not all(_LABEL.fullmatch(label) for label in labels):
        return "the domain is none"
    return None


def _why_no_device(address: str, allow_private: bool) -> str | None:
    """A token of APNs or FCM, or a Web Push subscription as the browser's JSON."""
    if not address.startswith("{"):
        return None if _TOKEN.fullmatch(address) else "a device token has 8 to 4096 visible ASCII characters"
    try:
        subscription = msgspec.json.decode(address, type=_Subscription)
    except msgspec.DecodeError:
        return "a Web Push subscription has endpoint and keys {p256dh, auth}, all of them text, and nothing else"
    return why_no_address("webhook", subscription.endpoint, allow_private=allow_private)


class _Keys(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    p256dh: str
    auth: str


class _Subscription(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"expiration": "expirationTime"}):
    """As `PushSubscription.toJSON()` gives it: browsers add when it ends, mostly null."""

    endpoint: str
    keys: _Keys
    expiration: float | None = None
