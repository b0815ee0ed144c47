"""Who may open a stream: token, origin, place, and where it begins."""

import re
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

from aiohttp import web

from notify_streams.domain.accept import why_no_user_id
from notify_streams.gateway.auth import Auth, User
from notify_streams.gateway.live.hub import Hub, Refused
from notify_streams.gateway.live.session import NEVER, Code
from notify_streams.gateway.live.wheel import now_ms
from notify_streams.gateway.problems import Problem
from notify_streams.settings import Gateway

_SEQUENCE = re.compile(r"[0-9]{1,18}")
BEARER = "bearer."


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody who may. `expires_at` in ms of the steady clock."""

    user_id: str
    expires_at: int = NEVER


@dataclass(frozen=True, slots=True)
class Entrance:
    """The same rules for every transport."""

    auth: Auth
    hub: Hub
    settings: Gateway

    def check(self, request: web.Request) -> None:
        """Raises a 503 when there is no place, and a 403 for a page of another site.

        Tokens are no cookies, so a page of another site has none to send; this is the second lock.
        """
        if request.method != "GET":
            raise Problem(405, "method_not_allowed", "a stream has no head", headers={"Allow": "GET"})
        if self.hub.full:
            words = "this gateway takes no more streams: try again, or another one"
            raise Problem(503, "no_place", words, headers={"Retry-After": "2", "Connection": "close"})
        origin = request.headers.get("Origin")
        if origin is not None and not self.allows(origin, request.host):
            raise Problem(403, "other_origin", "pages of this origin may not open streams: gateway.allowed_origins")

    def allows(self, origin: str, host: str) -> bool:
        """Whether a page of this origin may open a stream here."""
        allowed = self.settings.allowed_origins
        if "*" in allowed or origin in allowed or urlsplit(origin).netloc == host:
            return True
        own = urlsplit(self.settings.public_url)
        return bool(own.netloc) and origin == f"{own.scheme}://{own.netloc}"

    def visitor(self, request: web.Request) -> Visitor:
        """By the header, or the subprotocol `bearer.TOKEN`; an operator names a user. Raises a 401, or Refused."""
        caller = self.auth.known(request.headers.get("Authorization") or _offered(request))
        named = request.query.get("user_id")
        if isinstance(caller, User):
            if named not in (None, caller.user_id):
                raise Refused(Code.OTHER_USER, "this token is of another user")
            return Visitor(caller.user_id, steady(caller.expires_at))
        if caller.role != "operator" or named is None or why_no_user_id(named) is not None:
            raise Refused(Code.OTHER_USER, "this needs the user's token, or an operator's key and ?user_id=")
        return Visitor(named)


def steady(expires_at: int) -> int:
    """An instant of the wall clock (s) on the steady one (ms)."""
    return now_ms() + round((expires_at - time.time()) * 1000)


def after_of(request: web.Request) -> int | None:
    """`Last-Event-ID`, which a browser repeats when it comes back, or `?after=`. Raises a 400."""
    text = request.headers.get("Last-Event-ID") or request.query.get("after")
    if not text:
        return None
    if _SEQUENCE.fullmatch(text) is None:
        raise Problem(400, "invalid_sequence", "after (or Last-Event-ID) is a sequence: the last one that was seen")
    return int(text)


def _offered(request: web.Request) -> str:
    for word in request.headers.get("Sec-WebSocket-Protocol", "").split(","):
        if word.strip().startswith(BEARER):
            return "Bearer " + word.strip().removeprefix(BEARER)
    return ""
