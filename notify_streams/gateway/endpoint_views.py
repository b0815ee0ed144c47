"""How endpoints are named in a path, and shown in an answer."""

import time
from datetime import UTC, datetime
from typing import cast

import msgspec
from aiohttp import web

from notify_streams.domain.addresses import why_no_endpoint_id
from notify_streams.domain.decide import is_suppressed
from notify_streams.gateway.auth import Caller, User
from notify_streams.gateway.preferences import Pending
from notify_streams.gateway.problems import Problem
from notify_streams.gateway.routes import json_response
from schemas.codec import encode
from schemas.commands import FieldError
from schemas.profiles import Endpoint
from schemas.words import CHANNELS, Channel


class EndpointView(msgspec.Struct, frozen=True, kw_only=True):
    """An endpoint as its owner sees it. `suppressed` says why nothing is sent there, until then; null: until lifted."""

    channel: Channel
    endpoint_id: str
    address: str | None
    verified: bool
    suppressed: str | None
    suppressed_until: datetime | None
    platform: str | None


class Endpoints(msgspec.Struct, frozen=True):
    """All of a user, on one page: there are at most 32."""

    items: tuple[EndpointView, ...]
    next: None = None


def shown(endpoint: Endpoint, caller: Caller) -> EndpointView:
    """What is held against an address is told only to whoever has shown that it is theirs, and to keys: it would say
    that somebody here has it.
    """
    told = endpoint.verified or not isinstance(caller, User)
    told = told and is_suppressed(endpoint, time.time_ns() // 1_000_000)
    return EndpointView(
        channel=endpoint.channel,
        endpoint_id=endpoint.endpoint_id,
        address=endpoint.content.address if endpoint.content else None,
        verified=endpoint.verified,
        suppressed=endpoint.suppressed if told else None,
        suppressed_until=instant(endpoint.suppressed_until) if told else None,
        platform=endpoint.platform,
    )


def instant(ms: int | None) -> datetime | None:
    """As it is shown: RFC 3339, in UTC."""
    return None if ms is None else datetime.fromtimestamp(ms / 1000, UTC)


def channel_of(request: web.Request) -> Channel:
    """The channel in the path, one that has addresses. Raises a 400."""
    channel = request.match_info["channel"]
    if channel not in CHANNELS or channel == "inapp":
        detail = f"one of {', '.join(c for c in CHANNELS if c != 'inapp')}"
        raise Problem(400, "unknown_channel", f"channel: {detail}", errors=(FieldError("/channel", detail),))
    return cast(Channel, channel)


def named(request: web.Request) -> tuple[Channel, str]:
    """Channel and endpoint in the path. Raises a 400."""
    channel, endpoint_id = channel_of(request), request.match_info["endpoint_id"]
    fault = why_no_endpoint_id(endpoint_id)
    if fault is not None:
        raise Problem(400, "invalid_endpoint_id", fault, errors=(FieldError("/endpoint_id", fault),))
    return channel, endpoint_id


def pending(command_id: str) -> web.Response:
    """It is in the log, and not yet known to be done."""
    return json_response(encode(Pending("pending", command_id)), status=202)
