"""What an address of each channel looks like, without asking any network."""

import re
from urllib.parse import urlsplit

import msgspec

from schemas.words import Channel

PLATFORMS = ("ios", "android", "web")
_LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.IGNORECASE)
_E164 = re.compile(r"\+[1-9]\d{6,14}")
_TOKEN = re.compile(r"[\x21-\x7e]{8,4096}")


def why_no_address(channel: Channel, address: str) -> str | None:
    """What is wrong with it; None when a message can be sent there. Phone numbers are E.164 and nothing else."""
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


def same_address(channel: Channel, one: str, other: str) -> bool:
    """Mailboxes are compared without regard to case, everything else exactly."""
    return one.casefold() == other.casefold() if channel == "email" else one == other


def _why_no_mailbox(address: str) -> str | None:
    local, at, domain = address.rpartition("@")
    if not at or not local or len(local.encode()) > 64 or len(address.encode()) > 254:
        return "a mailbox is LOCAL@DOMAIN of at most 254 bytes"
    if not _LOCAL.fullmatch(local):
        return "the part before the @ has characters that are not taken"
    try:
        labels = domain.encode("idna").decode().split(".")
    except UnicodeError:
        return "the domain is none"
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
    if parts.scheme not in ("https", "http") or not host or len(address) > 2048 or not address.isprintable():
        return "a webhook is an http(s) URL of at most 2048 characters"
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
        return "a Web Push subscription has endpoint and keys {p256dh, auth}"
    return _why_no_url(subscription.endpoint)


class _Keys(msgspec.Struct, frozen=True):
    p256dh: str
    auth: str


class _Subscription(msgspec.Struct, frozen=True):
    endpoint: str
    keys: _Keys
