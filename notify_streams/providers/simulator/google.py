"""What Google checks and says: assertions of a service account, messages of FCM HTTP v1, errors in its form."""

import re
import secrets
from collections.abc import Mapping
from typing import Any

import jwt
import msgspec

GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
SCOPE = "https://www.googleapis.com/auth/firebase.messaging"
LIFE_S = 3599
_LIMIT = 4096
_SKEW_S = 60
_TTL = re.compile(r"\d{1,7}(\.\d{1,9})?s")
_LONGEST_TTL_S = 28 * 86_400
_FCM_ERROR = "type.googleapis.com/google.firebase.fcm.v1.FcmError"
_BAD_REQUEST = "type.googleapis.com/google.rpc.BadRequest"
_QUOTA = "type.googleapis.com/google.rpc.QuotaFailure"

# What FCM says where only a status was told: its general name, and its own code.
BY_STATUS: Mapping[int, tuple[str, str]] = {
    400: ("INVALID_ARGUMENT", "INVALID_ARGUMENT"),
    401: ("UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR"),
    403: ("PERMISSION_DENIED", "SENDER_ID_MISMATCH"),
    404: ("NOT_FOUND", "UNREGISTERED"),
    429: ("RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"),
    500: ("INTERNAL", "INTERNAL"),
    503: ("UNAVAILABLE", "UNAVAILABLE"),
}


class Invalid(ValueError):
    """What FCM would refuse: `field` names the one that is wrong."""

    def __init__(self, field: str, words: str) -> None:
        super().__init__(words)
        self.field = field


class Account(msgspec.Struct, frozen=True):
    """The service account that is known here: its key in PEM, the public part."""

    project_id: str
    client_email: str
    token_uri: str
    public_key: str


class Tokens:
    """Access tokens that were issued, until their end."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._ends: dict[str, float] = {}

    def exchange(self, form: Mapping[str, str], now: float) -> tuple[int, dict[str, Any]]:
        """An assertion for a token (RFC 7523, 2.1), or why not (RFC 6749, 5.2). `now` in seconds."""
        if form.get("grant_type") != GRANT:
            return 400, {"error": "unsupported_grant_type", "error_description": "Invalid grant_type"}
        try:
            self._check(form.get("assertion", ""), now)
        except jwt.PyJWTError as error:
            return 400, {"error": "invalid_grant", "error_description": f"Invalid JWT: {error}"}
        token = f"ya29.{secrets.token_urlsafe(48)}"
        self._ends = {known: ends for known, ends in self._ends.items() if ends > now}
        self._ends[token] = now + LIFE_S
        return 200, {"access_token": token, "expires_in": LIFE_S, "token_type": "Bearer"}

    def holds(self, authorization: str, now: float) -> bool:
        """Whether the header brings a token that was issued and has not ended."""
        return self._ends.get(authorization.removeprefix("Bearer "), 0.0) > now

    def end(self) -> None:
        """All of them, before their time."""
        self._ends.clear()

    def _check(self, assertion: str, now: float) -> None:
        own = self._account
        options: Any = {"require": ["iss", "scope", "aud", "iat", "exp"], "verify_iat": False, "verify_exp": False}
        claims = jwt.decode(
            assertion, own.public_key, ["RS256"], audience=own.token_uri, issuer=own.client_email, options=options
        )
        if SCOPE not in str(claims["scope"]).split():
            raise jwt.InvalidTokenError("the scope is not that of messaging")
        if not claims["iat"] - _SKEW_S <= now <= claims["exp"] + _SKEW_S or claims["exp"] - claims["iat"] > 3600:
            raise jwt.InvalidTokenError("token must be a short-lived token in a reasonable timeframe")


def message_of(body: bytes) -> dict[str, Any]:
    """What is to be sent. Raises Invalid."""
    try:
        message = msgspec.json.decode(body, type=dict[str, Any]).get("message")
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise Invalid("", "Invalid JSON payload received") from None
    if not isinstance(message, dict):
        raise Invalid("message", "Invalid value at 'message'")
    if not isinstance(message.get("token"), str) or not message["token"]:
        raise Invalid("message", "Recipient of the message is not set")
    _check_data(message.get("data", {}))
    ttl = _block(message, "android").get("ttl", "1s")
    if not isinstance(ttl, str) or not _TTL.fullmatch(ttl) or float(ttl[:-1]) > _LONGEST_TTL_S:
        raise Invalid("message.android.ttl", "Invalid value at 'message.android.ttl'")
    texts = {name: value for name, value in message.items() if name in ("notification", "data")}
    if len(msgspec.json.encode(texts)) > _LIMIT:
        raise Invalid("message", "Android message is too big")
    return message


def error(status: int, general: str, words: str, *details: dict[str, Any]) -> dict[str, Any]:
    """An error in Google's form."""
    return {"error": {"code": status, "message": words, "status": general, "details": list(details)}}


def told(status: int) -> dict[str, Any]:
    """The error of a status for which nothing more was told."""
    general, code = BY_STATUS.get(status, ("UNKNOWN", "UNSPECIFIED_ERROR"))
    details: list[dict[str, Any]] = [{"@type": _FCM_ERROR, "errorCode": code}]
    if status == 429:
        violation = {"subject": "project:simulated", "description": "Message rate exceeded"}
        details.append({"@type": _QUOTA, "violations": [violation]})
    return error(status, general, f"Simulated {code}", *details)


def code_of(answer: object) -> str:
    """FCM's own code in an answer, or its general one; empty where there is none."""
    found = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(found, dict):
        return ""
    details = [detail for detail in found.get("details") or [] if isinstance(detail, dict)]
    return str(next((detail["errorCode"] for detail in details if "errorCode" in detail), found.get("status", "")))


def wrong_field(invalid: Invalid) -> dict[str, Any]:
    """400 for a field of the request."""
    violation = {"field": invalid.field, "description": str(invalid)}
    return error(400, "INVALID_ARGUMENT", str(invalid), {"@type": _BAD_REQUEST, "fieldViolations": [violation]})


def identity_of(message: dict[str, Any]) -> str:
    """By what a device sees that two are one."""
    android = _block(message, "android")
    found = (
        _block(android, "notification").get("tag"),
        android.get("collapse_key"),
        _block(_block(message, "apns"), "headers").get("apns-collapse-id"),
        _block(_block(message, "webpush"), "headers").get("Topic"),
    )
    return next((value for value in found if isinstance(value, str)), "")


def _block(message: dict[str, Any], name: str) -> dict[str, Any]:
    block = message.get(name)
    return block if isinstance(block, dict) else {}


def _check_data(data: object) -> None:
    if not isinstance(data, dict) or not all(isinstance(value, str) for value in data.values()):
        raise Invalid("message.data[0].value", "Invalid value at 'message.data[0].value' (TYPE_STRING)")
    for name in data:
        if name in ("from", "message_type") or name.startswith(("google.", "gcm.")):
            raise Invalid("message.data", f"Invalid data payload key: {name}")
