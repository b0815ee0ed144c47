"""The door of the console: a form for an operator's key, and the way out."""

from dataclasses import dataclass
from time import monotonic

from aiohttp import web

from notify_streams.gateway.console import pages
from notify_streams.gateway.console.doors import SIGN_IN, Doors, SignedOut
from notify_streams.gateway.rates import Rates
from notify_streams.gateway.routes import Route

_TRIES_A_SECOND = 5
_HOME = "/console"


@dataclass(frozen=True, slots=True)
class SigningIn:
    """Keys are 32 characters of chance: what is limited is the noise of guessing, not its success."""

    doors: Doors
    rates: Rates

    def routes(self) -> tuple[Route, ...]:
        """Three."""
        door = {200: "HTML"}
        return (
            Route(method="GET", path=SIGN_IN, handler=self.door, summary="Console: the door", answers=door),
            Route(
                method="POST",
                path=SIGN_IN,
                handler=self.enter,
                summary="Console: sign in with an operator's key",
                media_type="application/x-www-form-urlencoded",
                answers={303: "inside", 403: "HTML"},
                problems=(429,),
            ),
            Route(
                method="POST",
                path="/console/sign-out",
                handler=self.leave,
                summary="Console: sign out",
                answers={303: "the door"},
            ),
        )

    async def door(self, request: web.Request) -> web.StreamResponse:
        """The form."""
        return pages.sign_in("Sign in with an operator's key.", _inside(request.query.get("next", "")), 200)

    async def enter(self, request: web.Request) -> web.StreamResponse:
        """A cookie for whoever has a key."""
        self.rates.take("console", _TRIES_A_SECOND, monotonic(), what="the door takes {} tries a second")
        form = await request.post()
        secret, then = str(form.get("key", "")).strip(), _inside(str(form.get("next", "")))
        key = self.doors.auth.ring.find(secret) if secret.isascii() else None
        if key is None or key.role != "operator":
            said = "That is no operator's key." if secret else "A key is needed."
            return pages.sign_in(said, then, 403)
        response = web.Response(status=303, headers={"Location": then})
        self.doors.enter(response, key)
        return response

    async def leave(self, request: web.Request) -> web.StreamResponse:
        """Back to the door; who was not inside comes there too."""
        form = await request.post()
        response = web.Response(status=303, headers={"Location": SIGN_IN})
        try:
            self.doors.writer(request, str(form.get("csrf", "")))
        except SignedOut:
            return response
        self.doors.leave(response)
        return response


def _inside(then: str) -> str:
    """A page of the console, and nowhere else."""
    safe = then == _HOME or then.startswith((_HOME + "/", _HOME + "?"))
    return then if safe and "\\" not in then and then.isprintable() else _HOME
