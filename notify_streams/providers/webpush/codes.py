"""What a push service's status means: RFC 8030 5 (sending), 7.3 (a subscription that is gone), 8.4 (limits)."""

from notify_streams.domain import http_status
from notify_streams.domain.answers import Answer, EndpointGone, Refused, TryLater
from notify_streams.providers.http import About

_GONE = frozenset({404, 410})
# The request or our VAPID token: our fault, never the subscription's, and the same again with a second try.
_OUR_FAULT = frozenset({400, 401, 403})

# The browsers' own. A subscription may name any other host, and what that says or does must not count against these.
_SERVICES = (
    "fcm.googleapis.com",
    "push.services.mozilla.com",
    "push.apple.com",
    "notify.windows.com",
)


def is_known(host: str, own: str = "") -> bool:
    """Whether a host is a browser vendor's push service, or the one that the settings name."""
    return host == own or any(host == service or host.endswith(f".{service}") for service in _SERVICES)


def meaning(status: int, retry_after: float | None = None, *, known: bool) -> Answer:
    """Of a status that is not 2xx. What a host that is not `known` says is about its own subscriptions alone."""
    detail = str(status)
    about: About = "provider" if known else "endpoint"
    if status in _GONE:
        return EndpointGone(detail)
    if status in _OUR_FAULT:
        return Refused(detail, "sender" if known else "message")
    if status == 429:  # "exceeded its rate limit for a push resource"
        return TryLater(detail, retry_after, about="endpoint")
    answer = http_status.meaning(status, detail, retry_after)
    if isinstance(answer, TryLater):
        return TryLater(detail, retry_after, about=about)
    return Refused(detail)
