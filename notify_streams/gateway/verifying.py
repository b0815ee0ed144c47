"""Codes for addresses: one is sent to where nobody knows yet whose it is, and whoever shows it has that address."""

import time
from dataclasses import dataclass
from typing import Literal
from uuid import uuid4

import msgspec
from aiohttp import web

from notify_streams.domain import endpoints, ids, verification
from notify_streams.domain.addresses import address_key
from notify_streams.domain.verification import Claimed
from notify_streams.gateway import bodies, problems
from notify_streams.gateway.auth import Auth
from notify_streams.gateway.commands import Commands, by, etag, new_command_id
from notify_streams.gateway.counting import Counting
from notify_streams.gateway.endpoint_views import EndpointView, named, shown
from notify_streams.gateway.problems import Problem, invalid
from notify_streams.gateway.profiles import Profiles
from notify_streams.gateway.routes import Route, json_response
from notify_streams.streaming import topics
from schemas.catalogue import Catalogue
from schemas.codec import encode
from schemas.commands import VerifyEndpointV1
from schemas.content import Content
from schemas.notifications import NotificationV1
from schemas.words import Channel

SOURCE = "/verification"
_SENDS, _TRIES, _OF_A_USER = 3, 5, 4  # in ten minutes: of one address, and so many times that of one user
_TO_AN_ADDRESS = 10  # codes that an address gets in that time, however many users say that it is theirs
_PATH = "/v1/users/{user_id}/endpoints/{channel}/{endpoint_id}/verify"


class Verify(msgspec.Struct, frozen=True):
    """The code that was sent; without one a new one is sent."""

    code: str | None = None


class UnderWay(msgspec.Struct, frozen=True, omit_defaults=True):
    """The 202: a code was `sent`, where one can be sent at all; or what a code has shown is `pending`."""

    status: Literal["sent", "pending"]
    good_for_s: int | None = None
    command_id: str | None = None


@dataclass(frozen=True, slots=True)
class Verifying:
    """Sends codes, and takes them. `secrets` sign them, the first one those that are sent."""

    auth: Auth
    catalogue: Catalogue
    profiles: Profiles
    commands: Commands
    counting: Counting
    secrets: tuple[str, ...]

    def routes(self) -> tuple[Route, ...]:
        """Both on one path."""
        return (
            Route(
                method="POST",
                path=_PATH,
                handler=self.post,
                summary="Send a code to an endpoint, or show it",
                who="user, service",
                body=Verify,
                answers={200: EndpointView, 202: UnderWay},
                problems=(400, 401, 403, 404, 413, 415, 422, 429, 503),
            ),
        )

    async def post(self, request: web.Request) -> web.Response:
        """200 for an endpoint that is verified, by this code or before."""
        user_id, caller = self.auth.about(request, "service")
        channel, endpoint_id = named(request)
        body = await bodies.read(request, Verify, known=("code",)) if request.can_read_body else Verify()
        profile = await self.profiles.read(user_id)
        endpoint = endpoints.find(profile, channel, endpoint_id)
        if endpoint is None or endpoint.content is None:
            raise problems.not_found()
        if endpoint.verified:
            return json_response(encode(shown(endpoint, caller)), headers={"ETag": etag(profile.version)})
        claimed = Claimed(user_id, channel, endpoint_id, address_key(channel, endpoint.content.address))
        if body.code is None:
            return await self._send(claimed)
        await self._judge(claimed, body.code)
        command = VerifyEndpointV1(
            command_id=new_command_id(),
            by=by(caller),
            channel=channel,
            endpoint_id=endpoint_id,
            address_key=claimed.address_key,
        )
        result = await self.commands.give(user_id, command)
        if result is None:
            return json_response(encode(UnderWay("pending", command_id=command.command_id)), status=202)
        stored = None if result.profile is None else endpoints.find(result.profile, channel, endpoint_id)
        view = shown(stored or msgspec.structs.replace(endpoint, verified=True), caller)
        return json_response(encode(view), headers={"ETag": etag(result.version)})

    async def _send(self, claimed: Claimed) -> web.Response:
        name = self._type(claimed.channel)
        await self._count("codes", claimed, _SENDS, "codes for this address were sent")
        now = _now()
        notification = code_for(claimed, name, self.catalogue, secret=self.secrets[0], now=now)
        user = claimed.user_id.encode()
        await self.commands.tell(topics.notifications("high"), user, encode(notification))
        return json_response(encode(UnderWay("sent", verification.WINDOW_MS // 1000)), status=202)

    async def _judge(self, claimed: Claimed, code: str) -> None:
        await self._count("tries", claimed, _TRIES, "codes for this address were tried")
        match verification.judge(self.secrets, claimed, code, _now()):
            case "wrong":
                raise invalid("code_wrong", "this is not the code that was sent", "/code")
            case "expired":
                raise invalid("code_expired", "the code is too old; have another one sent", "/code")

    async def _count(self, what: str, claimed: Claimed, most: int, words: str) -> None:
        """Of a user with an address, whatever the endpoint is called; of all that the user does; and of the address."""
        one, all_ = f"{what}/{claimed.user_id}/{claimed.address_key}", f"{what}/{claimed.user_id}"
        limits = {one: most, all_: most * _OF_A_USER}
        if what == "codes":  # tries of strangers must not lock its owner out
            limits[f"{what}//{claimed.address_key}"] = _TO_AN_ADDRESS
        wait = await self.counting.add(limits, time.monotonic())
        if wait is not None:
            raise Problem(429, "too_many_codes", f"too many {words}", headers={"Retry-After": str(wait)})

    def _type(self, channel: Channel) -> str:
        """Of the catalogue, the one that carries codes there. Raises a 422."""
        offered = channel in self.catalogue.channels
        names = (name for name, t in self.catalogue.types.items() if t.verifies and channel in t.channels and offered)
        name = next(names, None)
        if name is None:
            raise Problem(422, "not_verifiable", f"this installation sends no codes by {channel}")
        return name


def code_for(claimed: Claimed, type_: str, catalogue: Catalogue, *, secret: str, now: int) -> NotificationV1:
    """The notification that carries a code to the one endpoint that it is for. `now` in ms."""
    event_id = uuid4().hex
    code = verification.code(secret, claimed, now)
    payload = msgspec.json.encode({"code": code, "minutes": verification.WINDOW_MS // 60_000})
    return NotificationV1(
        notification_id=ids.notification_id(SOURCE, event_id, None, claimed.user_id),
        user_id=claimed.user_id,
        type=type_,
        source=SOURCE,
        event_id=event_id,
        accepted_at=now,
        expires_at=now + min(catalogue.types[type_].ttl_ms, verification.WINDOW_MS),
        origin=f"gateway{SOURCE}/{event_id}",
        lane="high",
        channels=(claimed.channel,),
        endpoint_id=claimed.endpoint_id,
        content=Content(payload=msgspec.Raw(payload)),
    )


def _now() -> int:
    return time.time_ns() // 1_000_000
