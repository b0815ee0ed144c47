"""The suppression list: what is held against an address, whoever has it."""

import time
from dataclasses import dataclass
from datetime import datetime
from typing import get_args

import msgspec
from aiohttp import web

from notify_streams.domain.accept import milliseconds
from notify_streams.domain.addresses import address_key
from notify_streams.domain.registry import suppression
from notify_streams.gateway import bodies
from notify_streams.gateway.auth import Auth
from notify_streams.gateway.commands import Answered, Commands, new_command_id
from notify_streams.gateway.endpoint_views import channel_of, instant, pending
from notify_streams.gateway.preferences import Pending
from notify_streams.gateway.problems import Problem, invalid
from notify_streams.gateway.routes import Route, json_response
from notify_streams.gateway.spelling import Spelling
from notify_streams.ports import Unavailable
from schemas.addresses import (
    AddressState,
    LiftSuppressionV1,
    ShowAddressV1,
    SuppressAddressV1,
    Suppression,
)
from schemas.codec import encode
from schemas.commands import CommandResultV1, FieldError
from schemas.profiles import Address
from schemas.words import Channel

_PATH = "/v1/suppressions/{channel}/{address}"
REASONS: tuple[Suppression, ...] = get_args(Suppression)


class Suppress(msgspec.Struct, frozen=True, kw_only=True):
    """Why nothing is to be sent there; until when (RFC 3339), null for until it is lifted."""

    reason: Suppression = "manual"
    until: datetime | None = None


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """One of the reasons; `address` as whoever gave it spelt it."""

    reason: Suppression
    since: datetime | None
    until: datetime | None
    by: str
    address: str | None


class SuppressionView(msgspec.Struct, frozen=True, kw_only=True):
    """What is held against an address: what is told of it, all reasons, and whose endpoints it concerns."""

    channel: Channel
    suppressed: Suppression | None
    until: datetime | None
    reasons: tuple[Reason, ...]
    users: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Suppressions:
    """Shows and changes the list, through the registry: an answer is as of its place on the log."""

    auth: Auth
    commands: Commands
    spelling: Spelling

    def routes(self) -> tuple[Route, ...]:
        """The three methods on one address."""
        common = (400, 401, 403, 422, 503)
        return (
            Route(
                method="GET",
                path=_PATH,
                handler=self.get,
                summary="What is held against an address",
                who="operator",
                answers={200: SuppressionView},
                problems=common,
            ),
            Route(
                method="PUT",
                path=_PATH,
                handler=self.put,
                summary="Send nothing there; said again it never ends sooner",
                who="operator",
                body=Suppress,
                answers={200: SuppressionView, 202: Pending},
                problems=(*common, 413, 415),
            ),
            Route(
                method="DELETE",
                path=_PATH,
                handler=self.delete,
                summary="Send there again",
                who="operator",
                query={"reason": f"only this one: {', '.join(REASONS)}"},
                answers={200: SuppressionView, 202: Pending},
                problems=common,
            ),
        )

    async def get(self, request: web.Request) -> web.Response:
        """200 also for an address that nobody has and nothing is held against."""
        by, channel, address = self._asked(request)
        result = await self._change(address, ShowAddressV1(channel=channel, at=now(), by=by, command_id=_id()))
        if result is None:
            raise Unavailable("the registry does not answer")
        return _shown(result)

    async def put(self, request: web.Request) -> web.Response:
        """200 once it is on the list; the profiles of its users follow within moments."""
        by, channel, address = self._asked(request)
        body = await bodies.read(request, Suppress, known=Suppress.__struct_fields__)
        change = SuppressAddressV1(
            channel=channel,
            at=now(),
            by=by,
            reason=body.reason,
            until=until_of(body.reason, body.until, now()),
            command_id=_id(),
            content=Address(address),
        )
        return _answer(await self._change(address, change), change.command_id)

    async def delete(self, request: web.Request) -> web.Response:
        """200 also where nothing was held."""
        by, channel, address = self._asked(request)
        only = request.query.get("reason")
        if only is not None and only not in REASONS:
            detail = f"one of {', '.join(REASONS)}"
            raise Problem(400, "invalid_parameter", f"reason: {detail}", errors=(FieldError("/reason", detail),))
        known = next((reason for reason in REASONS if reason == only), None)
        change = LiftSuppressionV1(channel=channel, at=now(), by=by, only=known, command_id=_id())
        return _answer(await self._change(address, change), change.command_id)

    def _asked(self, request: web.Request) -> tuple[str, Channel, str]:
        key, channel = self.auth.key(request), channel_of(request)
        return key.own_source, channel, self.spelling.kept(channel, request.match_info["address"])

    async def _change(self, address: str, change: Answered) -> CommandResultV1 | None:
        return await self.commands.change(address_key(change.channel, address), change)


def until_of(reason: Suppression, until: datetime | None, now_ms: int) -> int | None:
    """In ms. Raises a 422 for one that is past or without a zone, and for a full mailbox that would never empty."""
    if until is None:
        if reason == "mailbox_full":
            raise invalid("invalid_body", "a full mailbox is left alone for a while: when does that end?", "/until")
        return None
    if until.tzinfo is None:
        raise invalid("invalid_body", "an instant has a zone, such as 2026-12-24T18:00:00Z", "/until")
    ends = milliseconds(until) or 0
    if ends <= now_ms:
        raise invalid("invalid_body", "this is past", "/until")
    return ends


def view(state: AddressState, now_ms: int) -> SuppressionView:
    """As operators see it."""
    told = suppression(state.held, now_ms)
    return SuppressionView(
        channel=state.channel,
        suppressed=None if told is None else told.reason,
        until=None if told is None else instant(told.until),
        reasons=tuple(
            Reason(reason=h.reason, since=instant(h.at), until=instant(h.until), by=h.by, address=h.address)
            for h in state.held
            if h.until is None or h.until > now_ms
        ),
        users=tuple(dict.fromkeys(owner.user_id for owner in state.owners)),
    )


def now() -> int:
    """In ms."""
    return time.time_ns() // 1_000_000


def _id() -> str:
    return new_command_id()


def _answer(result: CommandResultV1 | None, command_id: str) -> web.Response:
    return pending(command_id) if result is None else _shown(result)


def _shown(result: CommandResultV1) -> web.Response:
    if result.address is None:
        raise Unavailable("an answer of the registry without what it keeps")
    return json_response(encode(view(result.address, now())))
