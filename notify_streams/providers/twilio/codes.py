"""What Twilio's error codes mean, by its Error and Warning Dictionary (twilio.com/docs/api/errors).

The same codes come with answers of the API (`code`) and with receipts (`ErrorCode`). Twilio makes finer ones as it
goes: what is not named here is read by the HTTP status, and of a receipt it is no fault of the number.
"""

from notify_streams.domain import http_status
from notify_streams.domain.answers import Answer, EndpointGone, Misconfigured, Refused, TryLater

# No text message can reach such a number: no number, not reachable, no mobile, a landline, a short code, a premium or
# information service; unknown to its carrier.
_GONE = frozenset({21211, 21214, 21217, 21265, 21268, 21614, 21635, 30005})
# The recipient has answered STOP. Nobody but themselves can lift it, with START.
_OPTED_OUT = frozenset({21610})
# Filtered or blocked by carriers for who we are: unregistered with US carriers, spam rules, fraud protection.
_SENDER = frozenset({30004, 30007, 30034, 30450})
# Credentials and account (not active, suspended, closed, no such resource); a sender that is not ours, cannot send
# texts or is not allowed to; a Messaging Service without numbers; a status callback that is no URL (our public_url).
_ABOUT_US = frozenset(
    {10001, 20003, 20005, 20006, 20403, 20404, 21212, 21267, 21603, 21606, 21609, 21659, 21660, 21661, 21701, 21703}
    | {21704, 21705, 30002}
)
# Too many requests, internal errors, maintenance; the sender's queue is full; carriers' rates and daily caps.
_NOT_NOW = frozenset({20429, 20500, 20503, 21611, 21730, 30001, 30022, 30023, 63038})
# A phone that is off, or a carrier that gives no reason: of this number only, and it may pass.
_ENDPOINT_NOT_NOW = frozenset({30003, 30008, 30410})
# One country or one route of the account is closed: final for the message, and somebody should open it. 21408 is the
# country's permission, 21608 a trial account's unverified recipient, 21612 a sender that cannot reach the country.
TO_BE_WARNED_OF = frozenset({21408, 21608, 21612}) | _ABOUT_US | _SENDER


def code_of(value: object) -> int | None:
    """The number, which receipts give as text; None for everything else."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 6:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def meaning(status: int, code: int | None, retry_after: float | None = None) -> Answer:
    """Of an answer that did not take the message."""
    detail = http_status.detail(status, code)
    if code in _GONE:
        return EndpointGone(detail)
    if code in _OPTED_OUT:
        return Refused(detail, about="opted_out")
    if code in _SENDER:
        return Refused(detail, about="sender")
    if code in _ABOUT_US:
        return Misconfigured(detail)
    if code in _ENDPOINT_NOT_NOW:
        return TryLater(detail, retry_after, about="endpoint")
    if code in _NOT_NOW:
        return TryLater(detail, retry_after, about="provider")
    return http_status.meaning(status, detail, retry_after)
