"""What a route says of itself: enough to serve it, and to describe it in OpenAPI."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

import msgspec
from aiohttp import web

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """One method on one path. `answers` maps a status to its type or its words; `who` is for the reader."""

    method: Method
    path: str
    handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    summary: str
    who: str = "anyone"
    body: Any = None
    media_type: str = "application/json"
    query: Mapping[str, str] = {}
    headers: Mapping[str, str] = {}
    answers: Mapping[int, Any] = {}
    problems: tuple[int, ...] = ()


def json_response(value: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """Bytes that are JSON already."""
    return web.Response(status=status, body=value, content_type="application/json", headers=headers)
