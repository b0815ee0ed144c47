"""GET and PATCH preferences: what the user chose, over what the catalogue offers."""

from dataclasses import dataclass

import msgspec
from aiohttp import web

from notify_streams.domain.checks import channels_of, mandatory_categories
from notify_streams.gateway import bodies
from notify_streams.gateway.auth import Auth
from notify_streams.gateway.commands import Commands, by, etag, if_match, new_command_id
from notify_streams.gateway.profiles import Profiles
from notify_streams.gateway.routes import Route, json_response
from notify_streams.ports import Unavailable
from schemas.catalogue import Catalogue
from schemas.codec import encode
from schemas.commands import PatchPreferencesV1, Preferences
from schemas.profiles import Frequency, ProfileV1, QuietHours
from schemas.words import Channel


class Effective(msgspec.Struct, frozen=True, kw_only=True):
    """Every switch there is, defaults filled in. `mandatory` categories cannot be switched off.

    `titles` are names of categories by locale; `digestible` the categories of a channel that can wait for a digest.
    """

    version: int
    locale: str | None
    zone: str | None
    channels: dict[Channel, bool]
    categories: dict[str, dict[Channel, bool]]
    mandatory: tuple[str, ...]
    quiet_hours: tuple[QuietHours, ...]
    digest: dict[Channel, dict[str, Frequency]]
    digest_at: str | None
    titles: dict[str, dict[str, str]]
    digestible: dict[Channel, tuple[str, ...]]


FIELDS = Effective.__struct_fields__  # what is shown may be sent back
ENTRIES = {"quiet_hours": QuietHours.__struct_fields__}


class Pending(msgspec.Struct, frozen=True):
    """The 202: the change is in the log and will be made or refused; read to see which."""

    status: str
    command_id: str


@dataclass(frozen=True, slots=True)
class PreferencesApi:
    """Shows and changes preferences."""

    auth: Auth
    catalogue: Catalogue
    profiles: Profiles
    commands: Commands

    def routes(self) -> tuple[Route, ...]:
        """GET and PATCH."""
        path = "/v1/users/{user_id}/preferences"
        return (
            Route(
                method="GET",
                path=path,
                handler=self.get,
                summary="Preferences, defaults filled in",
                who="user, operator",
                answers={200: Effective},
                problems=(401, 404, 503),
            ),
            Route(
                method="PATCH",
                path=path,
                handler=self.patch,
                summary="Change preferences: maps are merged, null resets",
                who="user, operator",
                body=Preferences,
                headers={"If-Match": "The ETag of the version to change"},
                answers={200: Effective, 202: Pending},
                problems=(400, 401, 404, 412, 413, 422, 503),
            ),
        )

    async def get(self, request: web.Request) -> web.Response:
        """As of now, changes answered with 200 included."""
        user_id, _ = self.auth.about(request)
        profile = await self.profiles.read(user_id)
        return _response(profile, self.catalogue)

    async def patch(self, request: web.Request) -> web.Response:
        """200 once it governs what is accepted later."""
        user_id, caller = self.auth.about(request)
        patch = await bodies.read(request, Preferences, known=FIELDS, entries=ENTRIES)
        command = PatchPreferencesV1(
            command_id=new_command_id(), if_match=if_match(request), by=by(caller), patch=patch
        )
        result = await self.commands.give(user_id, command)
        if result is None:
            return json_response(encode(Pending("pending", command.command_id)), status=202)
        try:
            profile = result.profile or await self.profiles.read(user_id)
        except Unavailable:
            return json_response(encode({"version": result.version}), headers={"ETag": etag(result.version)})
        return _response(profile, self.catalogue)


def effective(profile: ProfileV1, catalogue: Catalogue) -> Effective:
    """Cells as they are switched, one by one: what is off anywhere is off. No cell that nothing is sent by."""
    mandatory, offered = mandatory_categories(catalogue), channels_of(catalogue.types.values())
    cells: dict[str, dict[Channel, bool]] = {}
    for name in catalogue.categories:
        chosen = {} if name in mandatory else profile.categories.get(name, {})
        cells[name] = {c: True for c in catalogue.channels if c in offered[name]}
        cells[name] |= {c: on for c, on in chosen.items() if c in offered[name]}
    return Effective(
        version=profile.version,
        locale=profile.locale,
        zone=profile.zone,
        channels=dict.fromkeys(catalogue.channels, True) | profile.channels,
        categories=cells,
        mandatory=tuple(sorted(mandatory)),
        quiet_hours=profile.quiet_hours,
        digest=profile.digest,
        digest_at=profile.digest_at,
        titles={name: category.titles for name, category in catalogue.categories.items() if category.titles},
        digestible=_digestible(catalogue, mandatory),
    )


def _digestible(catalogue: Catalogue, mandatory: frozenset[str]) -> dict[Channel, tuple[str, ...]]:
    collected = channels_of(type_ for type_ in catalogue.types.values() if type_.digestible)
    able = [name for name in catalogue.categories if name not in mandatory]
    by_channel = {c: tuple(name for name in able if c in collected[name]) for c in catalogue.channels if c != "inapp"}
    return {channel: names for channel, names in by_channel.items() if names}


def _response(profile: ProfileV1, catalogue: Catalogue) -> web.Response:
    return json_response(encode(effective(profile, catalogue)), headers={"ETag": etag(profile.version)})
