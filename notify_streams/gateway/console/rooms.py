"""What all pages share: the door before them, and what they say when an engine is away."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from aiohttp import web

from notify_streams.gateway.console import pages
from notify_streams.gateway.console.doors import SIGN_IN, Doors, SignedOut
from notify_streams.gateway.keys import Key
from notify_streams.gateway.problems import Problem
from notify_streams.gateway.routes import Route
from notify_streams.gateway.tokens import unauthorized
from notify_streams.ports import Unavailable

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Inside = Callable[[web.Request, Key], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Rooms:
    """Makes routes of pages and of their JSON twins."""

    doors: Doors

    def page(self, path: str, title: str, inside: Inside, *, method: Any = "GET") -> Route:
        """A page: who is not signed in comes to the door first."""

        async def enter(request: web.Request) -> web.StreamResponse:
            try:
                key = self.doors.operator(request)
            except SignedOut:
                if pages.FRAGMENT in request.headers:
                    return web.Response(status=401)
                here = quote(request.path_qs if method == "GET" else "/console", safe="")
                return web.Response(status=303, headers={"Location": f"{SIGN_IN}?next={here}"})
            try:
                return await inside(request, key)
            except Unavailable:
                words = "Something that this page needs does not answer: Kafka, Cassandra or a role. Try again soon."
                return self.shown(request, key, "problem", "Not now", {"sentence": words}, status=503)
            except Problem as problem:
                words = problem.body.detail or problem.body.title
                return self.shown(request, key, "problem", "Not so", {"sentence": words}, status=problem.body.status)

        words = {200: "HTML"} if method == "GET" else {303: "back to the page"}
        return Route(
            method=method, path=path, handler=enter, summary=f"Console: {title}", who="operator", answers=words
        )

    def twin(self, path: str, title: str, inside: Inside, answer: Any) -> Route:
        """The same as JSON, with an operator's key or from a page."""

        async def enter(request: web.Request) -> web.StreamResponse:
            try:
                key = self.doors.operator(request)
            except SignedOut:
                raise unauthorized("unauthorized", "an operator's key is required: Authorization: Bearer …") from None
            return await inside(request, key)

        return Route(
            method="GET",
            path=path,
            handler=enter,
            summary=title,
            who="operator",
            answers={200: answer},
            problems=(401, 403, 503),
        )

    def shown(
        self, request: web.Request, key: Key, name: str, title: str, given: Mapping[str, Any], *, status: int = 200
    ) -> web.Response:
        """A template with what it says."""
        words = {**given, "title": title, "key": key, "token": self.doors.form_token(request)}
        return pages.page(request, name, words, status=status)
