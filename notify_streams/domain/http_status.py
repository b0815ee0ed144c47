"""What an HTTP status means where a provider's own documents say nothing else (RFC 9110 15, RFC 6585 4, RFC 8470 5.2).

400 and every other refusal of the request is final for the message, never for the address.
"""

import re

from notify_streams.domain.answers import Answer, Misconfigured, Refused, TryLater

# Somebody has to mend credentials, permissions, the account's payment, a proxy.
_ABOUT_US = frozenset({401, 402, 403, 407})
_NOT_NOW = frozenset({408, 425, 429})
# Not Implemented, HTTP Version Not Supported: the same request is refused tomorrow too.
_NEVER = frozenset({501, 505})
_CODE = re.compile(r"[A-Za-z0-9_.:-]{1,64}")


def accepted(status: int) -> bool:
    """2xx."""
    return 200 <= status < 300


def meaning(status: int, detail: str, retry_after: float | None = None) -> Answer:
    """Of a status that is not 2xx. A redirect is a base address that somebody has to mend: none is followed."""
    if status in _ABOUT_US or 300 <= status < 400:
        return Misconfigured(detail)
    if status in _NOT_NOW or (status >= 500 and status not in _NEVER):
        return TryLater(detail, retry_after, about="provider")
    return Refused(detail)


def detail(status: int, code: object = None) -> str:
    """`404 UNREGISTERED`: the vendor's code only where it is a plain word, so that no address ever comes with it."""
    return f"{status} {code}" if isinstance(code, str | int) and _CODE.fullmatch(str(code)) else str(status)
