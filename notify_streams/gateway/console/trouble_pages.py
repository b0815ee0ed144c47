"""Failures, Dead letters and Timers: what went wrong, and what waits."""

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlencode

import msgspec
from aiohttp import web

from notify_streams.domain.accept import why_no_user_id
from notify_streams.gateway.console.doors import SIGN_IN, SignedOut
from notify_streams.gateway.console.rooms import Rooms
from notify_streams.gateway.console.watching import Watching
from notify_streams.gateway.console.words import count, span
from notify_streams.gateway.failures import Failures, shown
from notify_streams.gateway.keys import Key
from notify_streams.gateway.problems import Problem
from notify_streams.gateway.routes import Route, json_response
from schemas.codec import encode
from schemas.deadletters import DeadLetter
from schemas.words import CHANNELS, Channel

log = logging.getLogger(__name__)
_SPANS = ((1, "an hour"), (6, "six hours"), (24, "a day"), (168, "a week"))
_MOST, _HOUR_MS = 500, 3_600_000
_LETTERS = 200


class Letters(Protocol):
    """The dead letters. Raises Unavailable throughout."""

    async def newest(self, limit: int, *, stage: str = "", error_class: str = "") -> Sequence[DeadLetter]:
        """At most so many, newest first."""

    async def redrive(self, ids: Sequence[str]) -> int:
        """Put them back where they came from; how many. Raises LookupError before any of them for one that is gone."""


class Letter(msgspec.Struct, frozen=True, kw_only=True):
    """A dead letter as the API shows it: without key and value, which are somebody's."""

    id: str
    topic: str
    partition: int
    offset: int
    attempts: int
    stage: str
    error_class: str
    error: str
    failed_at: int


class LetterList(msgspec.Struct, frozen=True):
    """The newest that fit."""

    items: tuple[Letter, ...]


@dataclass(frozen=True, slots=True)
class TroublePages:
    """`timers_of` lists what waits for a user, `clock` in ms."""

    rooms: Rooms
    failures: Failures
    letters: Letters
    watching: Watching
    timers_of: Callable[[str], Awaitable[Sequence[Any]]]
    clock: Callable[[], int]

    def routes(self) -> tuple[Route, ...]:
        """Pages, and the twin of the dead letters; failures have theirs in the API."""
        redrive = Route(
            method="POST",
            path="/console/dead-letters/redrive",
            handler=self.redrive,
            summary="Console: put dead letters back",
            who="operator",
            media_type="application/x-www-form-urlencoded",
            answers={303: "back to the page"},
            problems=(403,),
        )
        return (
            self.rooms.page("/console/failures", "Failures", self.failed),
            self.rooms.page("/console/dead-letters", "Dead letters", self.dead),
            self.rooms.twin("/v1/dead-letters", "The newest dead letters", self.dead_json, LetterList),
            self.rooms.page("/console/timers", "Timers", self.timers),
            redrive,
        )

    async def failed(self, request: web.Request, key: Key) -> web.Response:
        """Of one channel and span, by reason, and the newest of them."""
        channel: Channel = next((c for c in CHANNELS if c == request.query.get("channel")), "email")
        hours = next((h for h, _ in _SPANS if str(h) == request.query.get("hours")), 24)
        since = self.clock() - hours * _HOUR_MS
        rows, more = await self.failures.listed(channel, since=since, limit=_MOST)
        items = [shown(row) for row in rows]
        groups = Counter((item.why or "no reason was given", item.provider) for item in items).most_common()
        words = dict(_SPANS)[hours]
        sentence = f"{'More than ' if more else ''}{len(items):,} deliveries by {channel} failed in {words}."
        given: dict[str, Any] = {"sentence": sentence, "channels": CHANNELS, "channel": channel, "spans": _SPANS}
        given |= {"hours": hours, "groups": groups, "items": items, "more": more}
        return self.rooms.shown(request, key, "failures", "Failures", given)

    async def dead(self, request: web.Request, key: Key) -> web.Response:
        """By stage and class, and each of the newest with its reason."""
        stage, error_class = request.query.get("stage", ""), request.query.get("class", "")
        letters = await self.letters.newest(_LETTERS, stage=stage, error_class=error_class)
        groups = Counter((one.stage, one.error_class) for one in letters).most_common()
        given = {"groups": groups, "letters": letters, "stage": stage, "error_class": error_class}
        sentence = _letters(letters, request.query.get("put_back"))
        return self.rooms.shown(request, key, "dead_letters", "Dead letters", {**given, "sentence": sentence})

    async def dead_json(self, request: web.Request, _key: Key) -> web.Response:
        """The same as data; `?stage=` and `?class=` narrow it."""
        stage, error_class = request.query.get("stage", ""), request.query.get("class", "")
        found = await self.letters.newest(_LETTERS, stage=stage, error_class=error_class)
        names = Letter.__struct_fields__
        items = tuple(Letter(**{name: getattr(one, name) for name in names}) for one in found)
        return json_response(encode(LetterList(items)))

    async def redrive(self, request: web.Request) -> web.StreamResponse:
        """What was chosen, if its number was typed; back to the page."""
        form = await request.post()
        try:
            key = self.rooms.doors.writer(request, str(form.get("csrf", "")))
        except SignedOut:
            return web.Response(status=303, headers={"Location": SIGN_IN})
        ids, typed = [str(id_) for id_ in form.getall("id", [])], str(form.get("typed", "")).strip()
        if not ids or typed != str(len(ids)):
            raise Problem(422, "not_confirmed", f"{len(ids)} are chosen: type that number to put them back")
        try:
            put_back = await self.letters.redrive(ids)
        except LookupError as error:
            raise Problem(404, "not_found", f"letter {error} is not kept any more: nothing was put back") from None
        log.info("console.redriven letters=%d by=%s", put_back, key.name)
        query = {"stage": str(form.get("stage", "")), "class": str(form.get("class", "")), "put_back": put_back}
        return web.Response(status=303, headers={"Location": f"/console/dead-letters?{urlencode(query)}"})

    async def timers(self, request: web.Request, key: Key) -> web.Response:
        """How many wait and how late they come; and what waits for one user."""
        user, now = request.query.get("user", "").strip(), await self.watching.now()
        wrong = why_no_user_id(user) if user else None
        found = await self.timers_of(user) if user and wrong is None else []
        sentence = f"{count(now.timers)} timers wait; they come {span(now.timer_late_p99_s)} late at p99."
        if wrong is not None:
            sentence = f"That is no user id: {wrong}."
        given = {"sentence": sentence, "user": user, "timers": found}
        return self.rooms.shown(request, key, "timers", "Timers", given)


def _letters(letters: Sequence[DeadLetter], put_back: str | None) -> str:
    done = f"{put_back} were put back. " if put_back is not None and put_back.isdecimal() else ""
    if not letters:
        return done + "No dead letters."
    return f"{done}{'The newest ' if len(letters) == _LETTERS else ''}{len(letters):,} dead letters."
