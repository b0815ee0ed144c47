"""What APNs checks of a request, and its words for what is wrong (Apple, the documents of providers/apns)."""

import re
from typing import Any
from uuid import UUID

import jwt
import msgspec

from notify_streams.providers.simulator.http2 import Request, Response

_DEVICE = re.compile(r"/3/device/(?P<token>[^/?#]+)")
_PUSH_TYPES = frozenset(
    {
        *("alert", "background", "location", "voip", "complication", "fileprovider", "mdm", "liveactivity"),
        *("pushtotalk", "controls", "widgets"),
    }
)
_LIMITS = {"voip": 5120}
_LIMIT = 4096
_OLDEST_S = 3600
_COLLAPSE_BYTES = 64


class Key(msgspec.Struct, frozen=True):
    """Whose requests are taken: the public part of the key in PEM, its id, the team, and the app's topic."""

    public_key: str
    key_id: str
    team_id: str
    topic: str


def refusal(status: int, reason: str, **more: Any) -> Response:
    """An error as Apple's JSON."""
    return Response(status, {"content-type": "application/json"}, msgspec.json.encode({"reason": reason, **more}))


def token_of(request: Request) -> str:
    """The device's; empty where the path is none."""
    found = _DEVICE.fullmatch(request.path)
    return found["token"] if found else ""


class Gate:
    """Who may, and what is well-formed. Tokens that were found good are remembered: a signature costs as much again."""

    def __init__(self, key: Key) -> None:
        self._key = key
        self._issued: dict[str, int] = {}

    def refused(self, request: Request, now: float) -> Response | None:
        """Why it is not taken; None where nothing is wrong. `now` in seconds."""
        if request.method != "POST":
            return refusal(405, "MethodNotAllowed")
        if not token_of(request):
            return refusal(404, "BadPath")
        reason = self._about_token(request.headers.get("authorization", ""), now)
        if reason:
            return refusal(403, reason)
        return self._about_headers(request.headers) or _about_body(request)

    def _about_token(self, authorization: str, now: float) -> str:
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token:
            return "MissingProviderToken"
        issued = self._issued.get(token)
        if issued is None:
            issued = self._checked(token)
            if issued is None:
                return "InvalidProviderToken"
            self._issued = {token: issued} if len(self._issued) > 100 else {**self._issued, token: issued}
        return "ExpiredProviderToken" if now - issued > _OLDEST_S else ""

    def _checked(self, token: str) -> int | None:
        """When it was issued; None for one that is none of ours."""
        options: Any = {"require": ["iss", "iat"], "verify_iat": False}
        try:
            claims = jwt.decode(token, self._key.public_key, ["ES256"], issuer=self._key.team_id, options=options)
            key_id = jwt.get_unverified_header(token).get("kid")
        except jwt.PyJWTError:
            return None
        issued = claims["iat"]
        return issued if key_id == self._key.key_id and isinstance(issued, int) else None

    def _about_headers(self, headers: dict[str, str]) -> Response | None:
        topic = headers.get("apns-topic")
        if topic is None:
            return refusal(400, "MissingTopic")
        if topic != self._key.topic:
            return refusal(400, "TopicDisallowed")
        if headers.get("apns-push-type", "alert") not in _PUSH_TYPES:
            return refusal(400, "InvalidPushType")
        if headers.get("apns-priority", "10") not in ("1", "5", "10"):
            return refusal(400, "BadPriority")
        if not headers.get("apns-expiration", "0").isdigit():
            return refusal(400, "BadExpirationDate")
        if len(headers.get("apns-collapse-id", "").encode()) > _COLLAPSE_BYTES:
            return refusal(400, "BadCollapseId")
        return None if _is_id(headers.get("apns-id")) else refusal(400, "BadMessageId")


def _about_body(request: Request) -> Response | None:
    if not request.body:
        return refusal(400, "PayloadEmpty")
    if len(request.body) > _LIMITS.get(request.headers.get("apns-push-type", ""), _LIMIT):
        return refusal(413, "PayloadTooLarge")
    return None


def _is_id(text: str | None) -> bool:
    try:
        return text is None or str(UUID(text)) == text.lower()
    except ValueError:
        return False
