"""What SMTP replies mean: basic codes by RFC 5321 (4.2, 4.2.1), enhanced ones by RFC 3463, authentication by RFC 4954.

The basic code decides. The enhanced one only says whether a final refusal is about the address, and is not believed
where the two disagree (`451 5.1.1`, `550 4.2.2`). What is no final refusal, or no SMTP at all, may be tried again.
"""

import re
from typing import Literal

from notify_streams.domain.answers import Answer, EndpointGone, Refused, TryLater

Stage = Literal["connect", "mail", "rcpt", "data", "end"]

# RFC 3463 3.2, RFC 7505 4.2: no such mailbox, domain or syntax; moved and not forwarded; the domain takes no mail.
_GONE = frozenset({"5.1.0", "5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10"})
# RFC 4954 6, RFC 3207 4: about our credentials or our connection, so about no mail at all.
_ABOUT_US = frozenset({530, 534, 535, 538})
START_INPUT = 354
CLOSING = 421
_ENHANCED = re.compile(r"([245]\.\d{1,3}\.\d{1,3})\b")
_ADDRESS = re.compile(r"[^\s<>]+@[^\s<>]+")
_DETAIL = 200


def accepted(code: int) -> bool:
    """A positive completion reply (2yz)."""
    return 200 <= code < 300


def meaning(stage: Stage, code: int, text: str) -> Answer:
    """What a reply that did not take the mail means. While connecting nothing is about a mail yet."""
    detail = _ADDRESS.sub("[address]", f"{code} {' '.join(text.split())}")[:_DETAIL]
    if stage == "connect" or code in _ABOUT_US or not 500 <= code < 600:
        return TryLater(detail)
    enhanced = _ENHANCED.match(text)
    if stage == "rcpt" and enhanced is not None and enhanced[1] in _GONE:
        return EndpointGone(detail)
    return Refused(detail)
