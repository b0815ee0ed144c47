"""GET, PUT, DELETE of a user's endpoints: mailboxes, numbers, devices, URLs."""

import logging
import time
from dataclasses import dataclass

import msgspec
from aiohttp import web

from notify_streams.domain import endpoints, registry
from notify_streams.domain.addresses import address_key
from notify_streams.gateway import bodies, problems
from notify_streams.gateway.auth import Auth, Caller, User
from notify_streams.gateway.commands import Commands, by, etag, if_match, new_command_id
from notify_streams.gateway.endpoint_views import Endpoints, EndpointView, named, pending, shown
from notify_streams.gateway.preferences import Pending
from notify_streams.gateway.profiles import Profiles
from notify_streams.gateway.routes import Route, json_response
from notify_streams.gateway.spelling import Spelling
from notify_streams.ports import Unavailable
from notify_streams.streaming import topics
from schemas.addresses import ClaimAddressV1, ReleaseAddressV1
from schemas.codec import encode
from schemas.commands import CommandResultV1
from schemas.profiles import Address, Endpoint, ProfileV1
from schemas.words import Channel

log = logging.getLogger(__name__)
_LIST = "/v1/users/{user_id}/endpoints"
_ONE = _LIST + "/{channel}/{endpoint_id}"


class PutEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    """An address; `platform` (ios, android, web) for push. `verified` counts from service keys only.

    `region` (ISO 3166-1) is that of a phone number without a country code.
    """

    address: str
    verified: bool = False
    platform: str | None = None
    region: str | None = None


@dataclass(frozen=True, slots=True)
class EndpointsApi:
    """Shows and changes where a user is reached."""

    auth: Auth
    profiles: Profiles
    commands: Commands
    spelling: Spelling

    def routes(self) -> tuple[Route, ...]:
        """The list, and the three methods on one endpoint."""
        who, common = "user, service", (400, 401, 403, 404, 503)
        return (
            Route(
                method="GET",
                path=_LIST,
                handler=self.list,
                summary="All endpoints of a user",
                who=who,
                answers={200: Endpoints},
                problems=common,
            ),
            Route(
                method="GET",
                path=_ONE,
                handler=self.get,
                summary="One endpoint",
                who=who,
                answers={200: EndpointView},
                problems=common,
            ),
            Route(
                method="PUT",
                path=_ONE,
                handler=self.put,
                summary="Add or replace an endpoint; a user's is unverified, but for a device",
                who=who,
                body=PutEndpoint,
                answers={200: EndpointView, 202: Pending},
                problems=(*common, 412, 413, 422),
            ),
            Route(
                method="DELETE",
                path=_ONE,
                handler=self.delete,
                summary="Forget an endpoint",
                who=who,
                answers={202: Pending, 204: "it is forgotten"},
                problems=(*common, 412),
            ),
        )

    async def list(self, request: web.Request) -> web.Response:
        """In the order in which they were added."""
        user_id, caller = self.auth.about(request, "service")
        profile = await self.profiles.read(user_id)
        view = Endpoints(tuple(shown(e, caller) for e in profile.endpoints))
        return json_response(encode(view), headers={"ETag": etag(profile.version)})

    async def get(self, request: web.Request) -> web.Response:
        """404 for one that the user does not have."""
        user_id, caller = self.auth.about(request, "service")
        profile = await self.profiles.read(user_id)
        endpoint = endpoints.find(profile, *named(request))
        if endpoint is None:
            raise problems.not_found()
        return json_response(encode(shown(endpoint, caller)), headers={"ETag": etag(profile.version)})

    async def put(self, request: web.Request) -> web.Response:
        """200 once deliveries decided from now on use it. Whoever had a device's token before has it no longer."""
        user_id, caller = self.auth.about(request, "service")
        channel, endpoint_id = named(request)
        body = await bodies.read(request, PutEndpoint)
        profile = await self._profile(user_id)
        claim = ClaimAddressV1(
            channel=channel,
            at=_after(profile, channel, endpoint_id),
            by=by(caller),
            command_id=new_command_id(),
            user_id=user_id,
            endpoint_id=endpoint_id,
            content=Address(self.spelling.kept(channel, body.address, body.region)),
            if_match=if_match(request),
            verified=body.verified and not isinstance(caller, User),
            platform=body.platform,
        )
        result = await self.commands.claim(claim, profile)
        if result is None:
            return pending(claim.command_id)
        await self._release(profile, claim)
        return _answer(result, claim, caller)

    async def delete(self, request: web.Request) -> web.Response:
        """204 also for one that was not there."""
        user_id, caller = self.auth.about(request, "service")
        channel, endpoint_id = named(request)
        profile = await self._profile(user_id)
        known = None if profile is None else endpoints.find(profile, channel, endpoint_id)
        release = ReleaseAddressV1(
            channel=channel,
            at=_after(profile, channel, endpoint_id),
            by=by(caller),
            command_id=new_command_id(),
            user_id=user_id,
            endpoint_id=endpoint_id,
            if_match=if_match(request),
        )
        if known is not None and known.content is not None:
            result = await self.commands.change(address_key(channel, known.content.address), release)
        else:  # the registry does not know of it; a claim that is still on its way comes too late
            result = await self.commands.give(user_id, registry.removal_of(release))
        if result is None:
            return pending(release.command_id)
        return web.Response(status=204, headers={"ETag": etag(result.version)})

    async def _profile(self, user_id: str) -> ProfileV1 | None:
        """None where it cannot be read: then the change is judged by those who make it, as for a user of theirs."""
        try:
            return await self.profiles.read(user_id)
        except Unavailable:
            return None

    async def _release(self, profile: ProfileV1 | None, claim: ClaimAddressV1) -> None:
        """Tell the registry of the address that the endpoint had before. Untold, it would only remember one more."""
        old = None if profile is None else endpoints.find(profile, claim.channel, claim.endpoint_id)
        if old is None or old.content is None:
            return
        key = address_key(old.channel, old.content.address)
        if endpoints.has(Endpoint(channel=claim.channel, endpoint_id="", content=claim.content), claim.channel, key):
            return
        release = ReleaseAddressV1(
            channel=claim.channel,
            at=claim.at,
            by=claim.by,
            command_id=new_command_id(),
            user_id=claim.user_id,
            endpoint_id=claim.endpoint_id,
            quiet=True,
        )
        try:
            await self.commands.tell(topics.ADDRESS_CHANGES, key.encode(), encode(release))
        except Unavailable:
            log.warning("endpoints.unreleased")


def _after(profile: ProfileV1 | None, channel: Channel, endpoint_id: str) -> int:
    """Now (ms), but later than anything that was ever asked about the endpoint: gateways' clocks differ."""
    now = time.time_ns() // 1_000_000
    return now if profile is None else max(now, endpoints.last_asked(profile, channel, endpoint_id) + 1)


def _answer(result: CommandResultV1, claim: ClaimAddressV1, caller: Caller) -> web.Response:
    stored = None if result.profile is None else endpoints.find(result.profile, claim.channel, claim.endpoint_id)
    asked = Endpoint(
        channel=claim.channel,
        endpoint_id=claim.endpoint_id,
        verified=claim.verified or claim.channel == "push",
        platform=claim.platform,
        content=claim.content,
    )
    return json_response(encode(shown(stored or asked, caller)), headers={"ETag": etag(result.version)})
