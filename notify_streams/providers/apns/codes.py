"""What APNs's answers mean, by Apple's "Handling notification responses from APNs".

The reason decides, and where it is unknown the HTTP status. What Apple says must not be retried is final.
"""

from typing import Any

from notify_streams.domain import http_status
from notify_streams.domain.answers import Answer, EndpointGone, Misconfigured, TryLater

# The token is none, is another app's or another environment's, or has ended.
_GONE = frozenset({"BadDeviceToken", "DeviceTokenNotForTopic", "Unregistered", "ExpiredToken"})
# The key, its rights, the topic, the certificate.
_ABOUT_US = frozenset(
    {
        *("TopicDisallowed", "BadTopic", "MissingTopic", "BadCertificate", "BadCertificateEnvironment", "Forbidden"),
        *("ExpiredProviderToken", "InvalidProviderToken", "MissingProviderToken"),
        *("UnrelatedKeyIdInToken", "BadEnvironmentKeyIdInToken"),
    }
)
# The connection or the whole service; also as the reason of a GOAWAY.
_NOT_NOW = frozenset(
    {"InternalServerError", "ServiceUnavailable", "Shutdown", "IdleTimeout", "TooManyProviderTokenUpdates"}
)
THROTTLED = "TooManyRequests"
EXPIRED_TOKEN = "ExpiredProviderToken"


def reason_of(reply: dict[str, Any]) -> str:
    """Apple's word for it; empty where there is none."""
    reason = reply.get("reason")
    return reason if isinstance(reason, str) else ""


def meaning(status: int, reply: dict[str, Any], retry_after: float | None = None) -> Answer:
    """Of an answer that is not 200. `reply` is its JSON, `retry_after` what its header says (s)."""
    reason = reason_of(reply)
    detail = http_status.detail(status, reason)
    if reason in _GONE:
        return EndpointGone(detail, _since(status, reply))
    if reason in _ABOUT_US:
        return Misconfigured(detail)
    if reason == THROTTLED:  # "too many requests were made consecutively to the same device token"
        return TryLater(detail, retry_after, about="endpoint")
    if reason in _NOT_NOW:
        return TryLater(detail, retry_after, about="provider")
    if status == 410:
        return EndpointGone(detail, _since(status, reply))
    return http_status.meaning(status, detail, retry_after)


def _since(status: int, reply: dict[str, Any]) -> int | None:
    """With 410 Apple says when (ms) it last saw that the token was no longer good."""
    at = reply.get("timestamp")
    return at if status == 410 and isinstance(at, int) and not isinstance(at, bool) and at > 0 else None
