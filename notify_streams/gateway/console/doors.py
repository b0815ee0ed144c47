"""Who may enter the console: by the cookie of a sign-in, or with an operator's key in the header."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aiohttp import web

from notify_streams.gateway.auth import Auth
from notify_streams.gateway.console import session
from notify_streams.gateway.console.session import LASTS_S, Session
from notify_streams.gateway.keys import Key
from notify_streams.gateway.problems import Problem

COOKIE = "notify_console"
SIGN_IN = "/console/sign-in"


class SignedOut(Exception):
    """Nobody is signed in."""


@dataclass(frozen=True, slots=True)
class Doors:
    """`secrets` sign sessions: the first makes them, all are believed."""

    auth: Auth
    secrets: Sequence[str]
    secure: bool
    clock: Callable[[], float] = time.time

    def operator(self, request: web.Request) -> Key:
        """Who is there. Raises SignedOut, or the problem of a key that opens nothing here."""
        if request.headers.get("Authorization") or self.auth.open:
            return self.auth.key(request)
        known = session.read(self.secrets, request.cookies.get(COOKIE, ""), self.clock())
        key = None if known is None else self.auth.ring.named(known.name)
        if known is None or key is None or key.role != "operator" or key.hash != known.key:
            raise SignedOut
        return key

    def writer(self, request: web.Request, token: str) -> Key:
        """The same for what changes something: a form has to bring its page's token. Raises a 403 without it."""
        key = self.operator(request)
        cookie = request.cookies.get(COOKIE, "")
        if request.headers.get("Authorization") or (self.auth.open and not cookie):
            self._same_site(request)
            return key
        if not session.is_form_token(self.secrets, cookie, token):
            raise Problem(403, "form_expired", "the form is of another session: load the page again")
        return key

    def form_token(self, request: web.Request) -> str:
        """For the forms of a page."""
        return session.form_token(self.secrets[0], request.cookies.get(COOKIE, ""))

    def enter(self, response: web.StreamResponse, key: Key) -> None:
        """Sign in for half a day."""
        until = int(self.clock()) + LASTS_S
        value = session.issue(self.secrets[0], Session(key.name, key.hash, until))
        response.set_cookie(
            COOKIE, value, max_age=LASTS_S, path="/", httponly=True, samesite="Strict", secure=self.secure
        )

    def leave(self, response: web.StreamResponse) -> None:
        """Sign out here. Elsewhere the cookie holds until its end, or until the key is revoked."""
        response.del_cookie(COOKIE, path="/", httponly=True, samesite="Strict", secure=self.secure)

    def _same_site(self, request: web.Request) -> None:
        """Without keys a page of any site could post here: browsers say where a form comes from."""
        if request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
            raise Problem(403, "cross_site", "forms of other sites are not taken")
