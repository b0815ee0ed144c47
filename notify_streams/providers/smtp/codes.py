"""What SMTP replies mean: basic codes by RFC 5321 (4.2, 4.2.1), enhanced ones by RFC 3463, authentication by RFC 4954.

The basic code decides whether a mail may be tried again. The enhanced one only says what a refusal is about, and is not
believed where the two disagree (`451 5.1.1`, `550 4.2.2`). What has no code that is known is about the message.
"""

import re
from typing import Literal

from notify_streams.domain.answers import Answer, EndpointGone, Misconfigured, Refused, TryLater, Unknown
from notify_streams.providers.mail.words import one_line

Stage = Literal["connect", "mail", "rcpt", "data", "end"]

# RFC 3463 3.2, RFC 7505 4.2: no such mailbox, domain or syntax; moved and not forwarded; the domain takes no mail.
_GONE = frozenset({"5.1.0", "5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10"})
_MAILBOX_FULL = frozenset({"5.2.2"})  # RFC 3463 3.3
# RFC 3463 3.2 (bad sender), RFC 5321 4.2.2 (name not allowed, no such user here): said of MAIL, they are of its sender.
_BAD_SENDER = frozenset({550, 551, 553, 554})
# RFC 4954 6, RFC 3207 4: our credentials, or our connection for want of them.
_CREDENTIALS = frozenset({530, 534, 535, 538})
_EXCEEDED_STORAGE = 552  # RFC 5321 4.2.2; of a mailbox where it answers RCPT
_TEMPORARY_LOGIN = 454  # RFC 4954 6, RFC 3207 4
START_INPUT = 354
CLOSING = 421
_ENHANCED = re.compile(r"\s*([245]\.\d{1,3}\.\d{1,3})\b")
_ADDRESS = re.compile(r"[^\s<>]+@[^\s<>]+")
_DETAIL = 200


def accepted(code: int) -> bool:
    """A positive completion reply (2yz)."""
    return 200 <= code < 300


def masked(text: str) -> str:
    """On one line, without addresses and bytes that are no UTF-8, cut to what an outcome holds."""
    known = text.encode("utf-8", "replace").decode()
    return _ADDRESS.sub("[address]", " ".join(one_line(known).split()))[:_DETAIL]


def meaning(stage: Stage, code: int, text: str) -> Answer:
    """What a reply that did not take the mail means. While connecting nothing is about a mail yet."""
    if code in _CREDENTIALS:
        return Misconfigured(f"{code} the server does not take our credentials")
    detail = masked(f"{code} {text}")
    enhanced = _believed(code, text)
    if stage == "connect" or 400 <= code < 500:
        return TryLater(detail, about=_whose_delay(stage, code, enhanced))
    if 500 <= code < 600:
        return _refusal(stage, code, enhanced, detail)
    return Unknown(detail) if stage == "end" else TryLater(detail, about="provider")


def _believed(code: int, text: str) -> str:
    """The enhanced code; empty for none. One of another class than the basic one is that class's undefined status."""
    found = _ENHANCED.match(text)
    if found is None:
        return ""
    return found[1] if found[1][0] == str(code)[0] else f"{str(code)[0]}.0.0"


def _whose_delay(stage: Stage, code: int, enhanced: str) -> Literal["endpoint", "provider"]:
    """Before RCPT no recipient is known; x.3.z is the state of the mail system (RFC 3463 3.4)."""
    if stage in ("connect", "mail") or code in (CLOSING, _TEMPORARY_LOGIN) or enhanced.startswith("4.3."):
        return "provider"
    return "endpoint"


def _refusal(stage: Stage, code: int, enhanced: str, detail: str) -> Answer:
    if stage == "rcpt" and enhanced in _GONE:
        return EndpointGone(detail)
    if enhanced in _MAILBOX_FULL or (stage == "rcpt" and code == _EXCEEDED_STORAGE and not enhanced):
        return Refused(detail, about="mailbox_full")
    # x.7.z is security and policy (RFC 3463 3.8): blocked, bad reputation, not authenticated by SPF, DKIM or DMARC.
    if enhanced.startswith("5.7.") or (stage == "mail" and _is_about_sender(code, enhanced)):
        return Refused(detail, about="sender")
    return Refused(detail)


def _is_about_sender(code: int, enhanced: str) -> bool:
    return enhanced.startswith("5.1.") or (not enhanced and code in _BAD_SENDER)
