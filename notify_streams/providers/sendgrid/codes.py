"""What SendGrid says: Twilio SendGrid, "Mail Send" (Errors), "Responses" and "Rate Limits" of the v3 API.

The status decides; 403 is about the sender's identity or a block of ours. An error's `field` says whether a 400 is
about what our settings gave. Nothing here is about an address: SendGrid takes a mail first and says later what became
of it.
"""

from collections.abc import Mapping
from math import ceil
from typing import Any

from notify_streams.domain import http_status
from notify_streams.domain.answers import Answer, Misconfigured

_FROM_SETTINGS = ("from", "reply_to")
_LONGEST_WAIT_S = 86_400


def meaning(status: int, body: Mapping[str, Any], retry_after: float | None = None) -> Answer:
    """What an answer other than 2xx means. Texts of errors name addresses, so only the field goes further."""
    field = _field(body)
    detail = http_status.detail(status, field)
    if status == 400 and field.partition(".")[0] in _FROM_SETTINGS:
        return Misconfigured(detail)
    return http_status.meaning(status, detail, retry_after)


def wait(headers: Mapping[str, str], now: int) -> float | None:
    """Seconds until the refresh of a rate limit that is used up, at least 1; None where nothing of it is said."""
    said = headers.get("X-RateLimit-Reset", "")
    if headers.get("X-RateLimit-Remaining", "0") != "0" or not (said.isascii() and said.isdigit() and len(said) < 12):
        return None
    return float(min(max(ceil(int(said) - now / 1000), 1), _LONGEST_WAIT_S))


def _field(body: Mapping[str, Any]) -> str:
    errors = body.get("errors")
    first = errors[0] if isinstance(errors, list) and errors else None
    return str(first.get("field") or "") if isinstance(first, dict) else ""
