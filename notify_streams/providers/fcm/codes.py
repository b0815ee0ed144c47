"""What FCM's answers mean, by "Error codes for the HTTP v1 API" (firebase.google.com/docs/cloud-messaging/error-codes).

The code is in the FcmError among the details; where there is none, the status of the error itself stands for it. What
neither knows is read by the HTTP status.
"""

from collections.abc import Iterator
from typing import Any

from notify_streams.domain import http_status
from notify_streams.domain.answers import Answer, EndpointGone, Misconfigured, Refused, TryLater

_FCM_ERROR = "type.googleapis.com/google.firebase.fcm.v1.FcmError"
_BAD_REQUEST = "type.googleapis.com/google.rpc.BadRequest"
_QUOTA = "type.googleapis.com/google.rpc.QuotaFailure"

# UNREGISTERED: the app is gone from the device, or the token has ended. SENDER_ID_MISMATCH: the token is another
# project's, and for ours it will never be one.
_GONE = frozenset({"UNREGISTERED", "SENDER_ID_MISMATCH"})
# UNAVAILABLE and INTERNAL may be tried again with back-off; so may what Google calls by its general names for them.
_NOT_NOW = frozenset(
    {"UNAVAILABLE", "INTERNAL", "QUOTA_EXCEEDED", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED", "ABORTED"}
)
# The service account, its rights, the project, or the API that is switched off. NOT_FOUND without an FcmError is a
# project that does not exist.
_ABOUT_US = frozenset({"PERMISSION_DENIED", "UNAUTHENTICATED", "NOT_FOUND", "FAILED_PRECONDITION"})
# APNs's key or the web push key is missing in the Firebase project: Android goes on.
_OTHER_PLATFORM = "THIRD_PARTY_AUTH_ERROR"
WITHOUT_RETRY_AFTER_S = 60.0  # "if no retry-after header is set, default to 60 seconds", of 429
# Of one token, but a sign that tokens, keys and project do not belong together.
TO_BE_WARNED_OF = frozenset({"SENDER_ID_MISMATCH", _OTHER_PLATFORM})


def code_of(reply: dict[str, Any]) -> str:
    """FCM's own code, or the general status, or nothing."""
    error = _error(reply)
    codes = (detail.get("errorCode") for detail in _details(error, _FCM_ERROR))
    code = next((code for code in codes if isinstance(code, str)), error.get("status"))
    return code if isinstance(code, str) else ""


def token_refused(status: int, reply: dict[str, Any]) -> bool:
    """Whether it is our access token that is refused, and nothing was said of the message."""
    return status == 401 and code_of(reply) != _OTHER_PLATFORM


def meaning(status: int, reply: dict[str, Any], retry_after: float | None = None) -> Answer:
    """Of an answer that did not take the message. `reply` is its JSON, `retry_after` what its header says (s)."""
    code = code_of(reply)
    detail = http_status.detail(status, code)
    if code in _GONE:
        return EndpointGone(detail)
    if code == "INVALID_ARGUMENT":
        return _invalid(_error(reply), detail)
    if code == _OTHER_PLATFORM:
        return TryLater(detail, retry_after, about="endpoint")
    if code in _ABOUT_US:
        return Misconfigured(detail)
    if code in _NOT_NOW or status == 429:
        return _not_now(status, reply, detail, retry_after)
    return http_status.meaning(status, detail, retry_after)


def _invalid(error: dict[str, Any], detail: str) -> Answer:
    """The same code for a token that is none (FcmError) and for a field of ours that is wrong (BadRequest)."""
    ours = any(True for _ in _details(error, _BAD_REQUEST))
    about_token = any(True for _ in _details(error, _FCM_ERROR))
    return EndpointGone(detail) if about_token and not ours else Refused(detail)


def _not_now(status: int, reply: dict[str, Any], detail: str, retry_after: float | None) -> Answer:
    if status != 429:
        return TryLater(detail, retry_after, about="provider")
    violations = [v for d in _details(_error(reply), _QUOTA) for v in _list(d.get("violations"))]
    one_device = any("device" in str(v.get("subject", "")).lower() for v in violations)
    wait = WITHOUT_RETRY_AFTER_S if retry_after is None else retry_after
    return TryLater(detail, wait, about="endpoint" if one_device else "provider")


def _error(reply: dict[str, Any]) -> dict[str, Any]:
    error = reply.get("error")
    return error if isinstance(error, dict) else {}


def _details(error: dict[str, Any], type_: str) -> Iterator[dict[str, Any]]:
    return (detail for detail in _list(error.get("details")) if detail.get("@type") == type_)


def _list(value: object) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
