"""GET and POST /v1/unsubscribe/{token}: a page that changes nothing, and one click that does (RFC 8058).

Programs open links ahead of their readers: only a POST changes anything, and of that only the form body
`List-Unsubscribe=One-Click` counts. It needs no login and is not redirected. Whether a link is bad, too old, or of
somebody or something that is not there looks the same from outside.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aiohttp import web

from notify_streams.domain.checks import channels_of, mandatory_categories
from notify_streams.domain.unsubscribe import Unsubscribe, read
from notify_streams.gateway.commands import Commands, new_command_id
from notify_streams.gateway.profiles import Profiles
from notify_streams.gateway.receipts.forms import fields
from notify_streams.gateway.routes import Route
from notify_streams.gateway.unsubscribe.page import Choice, page
from notify_streams.gateway.unsubscribe.words import WORDS, Language, filled, language, title
from notify_streams.metrics import UNSUBSCRIBES
from notify_streams.ports import Unavailable
from schemas.catalogue import Catalogue
from schemas.commands import PatchPreferencesV1, Preferences
from schemas.profiles import ProfileV1
from schemas.words import Channel

BY = "unsubscribe"
_ONE_CLICK = ("List-Unsubscribe", "One-Click")
_SCOPES = ("category", "channel")


@dataclass(frozen=True, slots=True)
class Unsubscribing:
    """`clock` in ms."""

    catalogue: Catalogue
    profiles: Profiles
    commands: Commands
    secrets: Sequence[str]
    clock: Callable[[], int]

    def routes(self) -> tuple[Route, ...]:
        """The page, and the click."""
        path = "/v1/unsubscribe/{token}"
        return (
            Route(
                method="GET",
                path=path,
                handler=self.get,
                summary="A page that says what would be switched off; changes nothing",
                answers={200: "HTML", 404: "HTML: a link that does not work", 422: "HTML: it cannot be switched off"},
            ),
            Route(
                method="POST",
                path=path,
                handler=self.post,
                summary="One-click unsubscribe by the form body List-Unsubscribe=One-Click (RFC 8058)",
                answers={
                    200: "HTML: it is switched off",
                    202: "HTML: it will be in a moment",
                    400: "HTML: the body is another one",
                    404: "HTML: a link that does not work",
                    422: "HTML: it cannot be switched off",
                    503: "HTML: not confirmed, to be repeated",
                },
                problems=(413,),
            ),
        )

    async def get(self, request: web.Request) -> web.Response:
        """Whoever opens it: nothing happens."""
        asked = self._asked(request)
        if asked is None:
            return _plain(_spoken(request, None), "gone", 404)
        said = _Said(asked, self.catalogue, _spoken(request, await self._profile(asked.user_id)))
        return said.mandatory() if self._is_mandatory(asked) else said.question()

    async def post(self, request: web.Request) -> web.Response:
        """2xx once it is switched off, or on the log to be."""
        asked = self._asked(request)
        if asked is None:
            return _plain(_spoken(request, None), "gone", 404)
        scope = _scope(await request.read(), request.headers.get("Content-Type", ""))
        before = await self._profile(asked.user_id)
        spoken = _spoken(request, before)
        if scope is None:
            return _plain(spoken, "unclear", 400)
        said = _Said(asked, self.catalogue, spoken)
        if self._is_mandatory(asked):
            return said.mandatory()
        try:
            result = await self.commands.give(asked.user_id, _command(asked, scope))
        except Unavailable:
            return _plain(spoken, "later", 503, retry_after=True)
        if result is None or before is None or result.version != before.version:
            UNSUBSCRIBES.labels(type=asked.type, category=asked.category if scope == "category" else "").inc()
        return said.done(scope, soon=result is None)

    def _asked(self, request: web.Request) -> Unsubscribe | None:
        """None for a link that is none, or of something that nobody can be sent any more."""
        asked = read(self.secrets, request.match_info["token"], self.clock())
        if asked is None or asked.category not in self.catalogue.categories:
            return None
        offered = channels_of(self.catalogue.types.values())[asked.category]
        return asked if asked.channel in offered else None

    def _is_mandatory(self, asked: Unsubscribe) -> bool:
        return asked.category in mandatory_categories(self.catalogue)

    async def _profile(self, user_id: str) -> ProfileV1 | None:
        """For its language: the page works without."""
        try:
            return await self.profiles.read(user_id)
        except Unavailable:
            return None


@dataclass(frozen=True, slots=True)
class _Said:
    """What there is to say of one link, in one language."""

    asked: Unsubscribe
    catalogue: Catalogue
    spoken: Language

    def question(self) -> web.Response:
        """What would be switched off, and what else could be."""
        choices = (Choice(scope="category", label=self._text("category")), self._channel())
        return page(self.spoken, self._text("ask"), [self._text("ask_more")], choices=choices, note=self._text("must"))

    def done(self, scope: str, *, soon: bool) -> web.Response:
        """What was switched off, and what else could be."""
        sentences = [self._text("soon_more" if soon else "done_more")]
        choices = (self._channel(),) if scope == "category" else ()
        return page(
            self.spoken,
            self._text(f"done_{scope}"),
            sentences,
            choices=choices,
            note=self._text("must"),
            status=202 if soon else 200,
        )

    def mandatory(self) -> web.Response:
        """Why nothing is switched off."""
        return page(self.spoken, self._text("mandatory"), [self._text("mandatory_more")], status=422)

    def _channel(self) -> Choice:
        return Choice(scope="channel", label=self._text("channel"), why=self._text("channel_more"), other=True)

    def _text(self, name: str) -> str:
        category = self.catalogue.categories[self.asked.category]
        known_as = title(category.titles, self.asked.category, self.spoken)
        return filled(self.spoken, name, category=known_as, channel=self.asked.channel)


def _command(asked: Unsubscribe, scope: str) -> PatchPreferencesV1:
    off: dict[Channel, bool | None] = {asked.channel: False}
    patch = Preferences(channels=off) if scope == "channel" else Preferences(categories={asked.category: off})
    return PatchPreferencesV1(command_id=new_command_id(), by=BY, patch=patch)


def _scope(body: bytes, content_type: str) -> str | None:
    """What is to be switched off, by the form body alone; mail programs name no scope, and some end with a newline."""
    given = [(name.strip(), value.strip()) for name, value in fields(body, content_type) or []]
    scope = dict(given).get("scope", "category")
    return scope if _ONE_CLICK in given and scope in _SCOPES else None


def _spoken(request: web.Request, profile: ProfileV1 | None) -> Language:
    return language(profile.locale if profile else None, request.headers.get("Accept-Language", ""))


def _plain(spoken: Language, name: str, status: int, *, retry_after: bool = False) -> web.Response:
    """A page that says nothing of anybody."""
    words = WORDS[spoken]
    response = page(spoken, words[name], [words[f"{name}_more"]], status=status)
    if retry_after:
        response.headers["Retry-After"] = "60"
    return response
