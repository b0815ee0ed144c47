"""Now, Providers and Settings: what processes say of themselves."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from aiohttp import web

from notify_streams.gateway.console.now import Mood, Now, ProviderRow
from notify_streams.gateway.console.rooms import Rooms
from notify_streams.gateway.console.watching import Watching
from notify_streams.gateway.keys import Key
from notify_streams.gateway.routes import Route, json_response
from schemas.codec import encode

_EVERY_S = 2


class Providers(msgspec.Struct, frozen=True):
    """All providers that any process knows."""

    items: tuple[ProviderRow, ...]


@dataclass(frozen=True, slots=True)
class LivePages:
    """`settings` are masked; `catalogue` is the hash of the one in force."""

    rooms: Rooms
    watching: Watching
    settings: Mapping[str, Any]
    catalogue: str

    def routes(self) -> tuple[Route, ...]:
        """Pages and twins."""
        return (
            self.rooms.page("/console", "Now", self.now),
            self.rooms.twin("/v1/console/now", "How the pipeline stands", self.now_json, Now),
            self.rooms.page("/console/providers", "Providers", self.providers),
            self.rooms.twin("/v1/console/providers", "How the providers stand", self.providers_json, Providers),
            self.rooms.page("/console/settings", "Settings", self.shown_settings),
            self.rooms.twin("/v1/console/settings", "The settings in force, masked", self.settings_json, "settings"),
        )

    async def now(self, request: web.Request, key: Key) -> web.Response:
        """The picture."""
        now = await self.watching.now()
        hops = {hop.role: hop for hop in now.hops}
        given = {"now": now, "hops": hops, "targets": self.watching.targets, "live": _EVERY_S}
        return self.rooms.shown(request, key, "now", "Now", given)

    async def now_json(self, _request: web.Request, _key: Key) -> web.Response:
        """The same as data."""
        return json_response(encode(await self.watching.now()))

    async def providers(self, request: web.Request, key: Key) -> web.Response:
        """A table."""
        found = await self.watching.providers()
        mood, sentence = said(found)
        given = {"providers": found, "mood": mood, "sentence": sentence, "live": _EVERY_S}
        return self.rooms.shown(request, key, "providers", "Providers", given)

    async def providers_json(self, _request: web.Request, _key: Key) -> web.Response:
        """The same as data."""
        return json_response(encode(Providers(await self.watching.providers())))

    async def shown_settings(self, request: web.Request, key: Key) -> web.Response:
        """Flat, in the order of the sections."""
        given = {"settings": _flat(self.settings, ""), "catalogue": self.catalogue}
        return self.rooms.shown(request, key, "settings", "Settings", given)

    async def settings_json(self, _request: web.Request, _key: Key) -> web.Response:
        """The same as data."""
        return json_response(encode(self.settings))


def said(providers: tuple[ProviderRow, ...]) -> tuple[Mood, str]:
    """How they stand, in a sentence."""
    wrong = [one for one in providers if one.mood == "bad"]
    slow = [one for one in providers if one.mood == "warn"]
    words = [f"{sum(one.mood == 'ok' for one in providers)} of {len(providers)} are healthy"]
    words += [f"{one.provider} is {', '.join(one.alerts) or one.breaker}" for one in wrong]
    words += [
        f"{one.provider} is {one.breaker}" if one.breaker != "closed" else f"{one.provider} fails {one.failed:.1%}"
        for one in slow
    ]
    return ("bad" if wrong else "warn" if slow else "ok"), "; ".join(words) + "."


def _flat(values: Mapping[str, Any], above: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in values.items():
        found += _flat(value, f"{above}{name}.") if isinstance(value, Mapping) else [(f"{above}{name}", value)]
    return found
