"""What the answers of strangers' servers mean (RFC 9110; Standard Webhooks 1.0.0, "Delivery").

Whatever one of them says is about itself: nothing that it answers pauses the webhooks of all the others.
"""

from notify_streams.domain import http_status
from notify_streams.domain.answers import Answer, EndpointGone, Misconfigured, Refused, TryLater

_GONE = 410
# It does not (yet) accept our signature or lets nobody in: its owner may mend that before the message expires.
_SHUT = frozenset({401, 403})


def meaning(status: int, retry_after: float | None = None) -> Answer:
    """Of a status that is not 2xx. A redirect is followed nowhere and final."""
    detail = http_status.detail(status)
    if status == _GONE:
        return EndpointGone(detail)
    if status in _SHUT:
        return TryLater(detail, retry_after, about="endpoint")
    answer = http_status.meaning(status, detail, retry_after)
    if isinstance(answer, Misconfigured):
        return Refused(detail)
    return TryLater(detail, retry_after, about="endpoint") if isinstance(answer, TryLater) else answer
