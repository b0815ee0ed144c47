"""What an address of each channel looks like, without asking any network."""

import re
from hashlib import sha256
from urllib.parse import urlsplit

import msgspec

from schemas.words import Channel

PLATFORMS = ("ios", "android", "web")
_MOST: dict[Channel, int] = {"email": 254, "sms": 16, "webhook": 2048, "push": 4096, "inapp": 0}
_NAMES: dict[Channel, str] = {
    "email": "a mailbox",
    "sms": "a phone number",
    "webhook": "a webhook's URL",
    "push": "a device token or subscription",
    "inapp": "the inbox",
}
_LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.IGNORECASE)
_E164 = re.compile(r"\+[1-9][0-9]{6,14}")
_TOKEN = re.compile(r"[\x21-\x7e]{8,4096}")


def why_no_address(channel: Channel, address: str) -> str | None:
    """What is wrong with it; None when a message can be sent there. Phone numbers are E.164 and nothing else.

    A mailbox has at most 254 bytes (RFC 5321), its domain as it travels; a URL 2,048, a device token or Web Push
    subscription 4,096.
    """
    if channel != "inapp" and len(address.encode()) > _MOST[channel]:
        return f"{_NAMES[channel]} has at most {_MOST[channel]:,} bytes"
    match channel:
        case "email":
            return _why_no_mailbox(address)
        case "sms":
            return None if _E164.fullmatch(address) else "a phone number is + and 7 to 15 digits"
        case "webhook":
            return _why_no_url(address)
        case "push":
            return _why_no_device(address)
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
    """How addresses are compared: mailboxes without regard to case or space around them, a subscription by its URL."""
    if channel == "email":
        return address.strip().casefold()
    if channel == "push" and address.startswith("{"):
        try:
            return msgspec.json.decode(address, type=_Subscription).endpoint
        except msgspec.DecodeError:
            return address
    return address.strip()


def address_key(channel: Channel, address: str) -> str:
    """The key of an address wherever it must not be read: 32 hex digits, the same for what `normalised` holds equal."""
    return sha256(f"{channel}\0{normalised(channel, address)}".encode()).hexdigest()[:32]


def same_address(channel: Channel, one: str, other: str) -> bool:
    """Mailboxes are compared without regard to case, everything else exactly."""
    return one.casefold() == other.casefold() if channel == "email" else one == other


def _why_no_mailbox(address: str) -> str | None:
    local, at, domain = address.rpartition("@")
    if not at or not local or len(local.encode()) > 64:
        return "a mailbox is LOCAL@DOMAIN, with at most 64 bytes before the @"
    if not _LOCAL.fullmatch(local):
        return "the part before the @ has characters that are not taken"
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


def _why_no_url(address: str) -> str | None:
    """Whether it leads to a private network is asked when it is connected to: names can move."""
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "not a URL"
    if parts.scheme not in ("https", "http") or not host or not address.isprintable():
        return "a webhook is an http(s) URL"
    if parts.username is not None or parts.fragment:
        return "a webhook has neither credentials nor a fragment"
    return None


def _why_no_device(address: str) -> str | None:
    """A token of APNs or FCM, or a Web Push subscription as the browser's JSON."""
    if not address.startswith("{"):
        return None if _TOKEN.fullmatch(address) else "a device token has 8 to 4096 visible ASCII characters"
    try:
        subscription = msgspec.json.decode(address, type=_Subscription)
    except msgspec.DecodeError:
        return "a Web Push subscription has endpoint and keys {p256dh, auth}, all of them text, and nothing else"
    return why_no_address("webhook", subscription.endpoint)


class _Keys(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    p256dh: str
    auth: str


class _Subscription(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"expiration": "expirationTime"}):
    """As `PushSubscription.toJSON()` gives it: browsers add when it ends, mostly null."""

    endpoint: str
    keys: _Keys
    expiration: float | None = None
