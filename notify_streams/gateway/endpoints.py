"""GET, PUT, DELETE of a user's endpoints: mailboxes, numbers, devices, URLs."""

from dataclasses import dataclass
from typing import cast

import msgspec
from aiohttp import web

from notify_streams.domain.addresses import why_no_endpoint_id
from notify_streams.gateway import bodies, problems
from notify_streams.gateway.auth import Auth, User
from notify_streams.gateway.commands import Commands, by, etag, if_match, new_command_id
from notify_streams.gateway.preferences import Pending
from notify_streams.gateway.problems import Problem
from notify_streams.gateway.profiles import Profiles
from notify_streams.gateway.routes import Route, json_response
from schemas.codec import encode
from schemas.commands import FieldError, PutEndpointV1, RemoveEndpointV1, UserCommand
from schemas.profiles import Address, Endpoint
from schemas.words import CHANNELS, Channel


class PutEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    """An address; `platform` (ios, android, web) for push. `verified` counts from service keys only."""

    address: str
    verified: bool = False
    platform: str | None = None


class EndpointView(msgspec.Struct, frozen=True, kw_only=True):
    """An endpoint as its owner sees it."""

    channel: Channel
    endpoint_id: str
    address: str | None
    verified: bool
    suppressed: str | None
    platform: str | None


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Shows and changes where a user is reached."""

    auth: Auth
    profiles: Profiles
    commands: Commands

    def routes(self) -> tuple[Route, ...]:
        """The three methods on one endpoint."""
        path, who = "/v1/users/{user_id}/endpoints/{channel}/{endpoint_id}", "user, service"
        common = (400, 401, 403, 404, 503)
        return (
            Route(
                method="GET",
                path=path,
                handler=self.get,
                summary="One endpoint",
                who=who,
                answers={200: EndpointView},
                problems=common,
            ),
            Route(
                method="PUT",
                path=path,
                handler=self.put,
                summary="Add or replace an endpoint; a user's is unverified",
                who=who,
                body=PutEndpoint,
                answers={200: EndpointView, 202: Pending},
                problems=(*common, 412, 413, 422),
            ),
            Route(
                method="DELETE",
                path=path,
                handler=self.delete,
                summary="Forget an endpoint",
                who=who,
                answers={202: Pending, 204: "it is forgotten"},
                problems=(*common, 412),
            ),
        )

    async def get(self, request: web.Request) -> web.Response:
        """404 for one that the user does not have."""
        user_id, _ = self.auth.about(request, "service")
        channel, endpoint_id = _named(request)
        profile = await self.profiles.read(user_id)
        for endpoint in profile.endpoints:
            if (endpoint.channel, endpoint.endpoint_id) == (channel, endpoint_id):
                return json_response(encode(_shown(endpoint)), headers={"ETag": etag(profile.version)})
        raise problems.not_found()

    async def put(self, request: web.Request) -> web.Response:
        """200 once deliveries decided from now on use it."""
        user_id, caller = self.auth.about(request, "service")
        channel, endpoint_id = _named(request)
        body = await bodies.read(request, PutEndpoint)
        command = PutEndpointV1(
            command_id=new_command_id(),
            if_match=if_match(request),
            by=by(caller),
            channel=channel,
            endpoint_id=endpoint_id,
            content=Address(body.address),
            verified=body.verified and not isinstance(caller, User),
            platform=body.platform,
        )
        result = await self.commands.give(user_id, command)
        if result is None:
            return _pending(command)
        stored = result.profile.endpoints if result.profile else ()
        named = (e for e in stored if (e.channel, e.endpoint_id) == (channel, endpoint_id))
        view = _shown(next(named, _endpoint(command)))
        return json_response(encode(view), headers={"ETag": etag(result.version)})

    async def delete(self, request: web.Request) -> web.Response:
        """204 also for one that was not there."""
        user_id, caller = self.auth.about(request, "service")
        channel, endpoint_id = _named(request)
        command = RemoveEndpointV1(
            command_id=new_command_id(),
            if_match=if_match(request),
            by=by(caller),
            channel=channel,
            endpoint_id=endpoint_id,
        )
        result = await self.commands.give(user_id, command)
        if result is None:
            return _pending(command)
        return web.Response(status=204, headers={"ETag": etag(result.version)})


def _named(request: web.Request) -> tuple[Channel, str]:
    channel, endpoint_id = request.match_info["channel"], request.match_info["endpoint_id"]
    if channel not in CHANNELS or channel == "inapp":
        detail = f"one of {', '.join(c for c in CHANNELS if c != 'inapp')}"
        raise Problem(400, "unknown_channel", f"channel: {detail}", errors=(FieldError("/channel", detail),))
    fault = why_no_endpoint_id(endpoint_id)
    if fault is not None:
        raise Problem(400, "invalid_endpoint_id", fault, errors=(FieldError("/endpoint_id", fault),))
    return cast(Channel, channel), endpoint_id


def _endpoint(command: PutEndpointV1) -> Endpoint:
    return Endpoint(
        channel=command.channel,
        endpoint_id=command.endpoint_id,
        verified=command.verified,
        platform=command.platform,
        content=command.content,
    )


def _shown(endpoint: Endpoint) -> EndpointView:
    return EndpointView(
        channel=endpoint.channel,
        endpoint_id=endpoint.endpoint_id,
        address=endpoint.content.address if endpoint.content else None,
        verified=endpoint.verified,
        suppressed=endpoint.suppressed,
        platform=endpoint.platform,
    )


def _pending(command: UserCommand) -> web.Response:
    return json_response(encode(Pending("pending", command.command_id)), status=202)
