"""The console put together."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from notify_streams.gateway.commands import Commands
from notify_streams.gateway.console import pages
from notify_streams.gateway.console.doors import Doors
from notify_streams.gateway.console.live_pages import LivePages
from notify_streams.gateway.console.people_pages import PeoplePages
from notify_streams.gateway.console.rooms import Rooms
from notify_streams.gateway.console.signing_in import SigningIn
from notify_streams.gateway.console.trouble_pages import Letters, TroublePages
from notify_streams.gateway.console.watching import Watching
from notify_streams.gateway.failures import Failures
from notify_streams.gateway.notifications import Told
from notify_streams.gateway.profiles import Profiles
from notify_streams.gateway.rates import Rates
from notify_streams.gateway.routes import Route
from notify_streams.gateway.spelling import Spelling
from notify_streams.ports import InboxStore, Records
from notify_streams.settings import Settings, masked
from schemas.catalogue import Catalogue


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What only the console needs of the outside: dead letters, a user's timers, the figures of all processes."""

    letters: Letters
    timers_of: Callable[[str], Awaitable[Sequence[Any]]]
    watching: Watching


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    """Every page and its twin."""

    settings: Settings
    catalogue: Catalogue
    doors: Doors
    desk: Desk
    records: Records
    inbox: InboxStore
    profiles: Profiles
    commands: Commands
    spelling: Spelling
    explain: Told
    failures: Failures
    clock: Callable[[], int]

    def routes(self) -> tuple[Route, ...]:
        """Of all rooms, and the files that go with them."""
        rooms, desk = Rooms(self.doors), self.desk
        files = Route(
            method="GET",
            path="/console/assets/{name}",
            handler=_asset,
            summary="Console: style sheet and script",
            answers={200: "a file", 304: "unchanged"},
            problems=(404,),
        )
        return (
            *SigningIn(self.doors, Rates()).routes(),
            *LivePages(rooms, desk.watching, masked(self.settings), self.catalogue.hash).routes(),
            *PeoplePages(
                rooms,
                self.records,
                self.inbox,
                self.profiles,
                self.commands,
                self.spelling,
                self.explain,
                self.clock,
            ).routes(),
            *TroublePages(rooms, self.failures, desk.letters, desk.watching, desk.timers_of, self.clock).routes(),
            files,
        )


async def _asset(request: web.Request) -> web.StreamResponse:
    return pages.asset(request)
