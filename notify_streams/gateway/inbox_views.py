"""An inbox as lists show it: pages, cursors, counts, and what may be asked for."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Literal, get_args
from uuid import UUID

import msgspec
from aiohttp import web

from notify_streams.gateway.problems import Problem
from schemas.commands import FieldError
from schemas.frames import ItemView

Filter = Literal["all", "unread", "read", "archived"]
FILTERS: tuple[Filter, ...] = get_args(Filter)
DEFAULT_LIMIT, MAX_LIMIT = 20, 100
QUERY = {
    "state": f"one of {', '.join(FILTERS)}; `all` is all but archived",
    "after": "the `next` of the page before",
    "limit": f"1 to {MAX_LIMIT}, {DEFAULT_LIMIT} when left out",
}


class Page(msgspec.Struct, frozen=True):
    """Some items, newest first, and the cursor of what follows; null at the end.

    An aggregated item that grows while somebody pages comes to the top: it may be met twice, under one id.
    """

    items: tuple[ItemView, ...]
    next: str | None


class Counts(msgspec.Struct, frozen=True):
    """The counts that hold at `sequence`."""

    unread: int
    unseen: int
    sequence: int


class Asked(msgspec.Struct, frozen=True):
    """Which page of the list."""

    state: Filter = "all"
    before: UUID | None = None
    limit: int = DEFAULT_LIMIT

    @property
    def is_first(self) -> bool:
        """The page that everybody opens, and that is kept ready."""
        return self == FIRST


FIRST = Asked()


def asked(request: web.Request) -> Asked:
    """What the query asks for. Raises a 400 that names the parameter."""
    return Asked(_filter_of(request), _before_of(request), _limit_of(request))


def cursor(item_id: UUID) -> str:
    """What continues after this row."""
    return urlsafe_b64encode(item_id.bytes).rstrip(b"=").decode()


def _before_of(request: web.Request) -> UUID | None:
    text = request.query.get("after")
    if text is None:
        return None
    try:
        item_id = UUID(bytes=urlsafe_b64decode(text + "=="))
    except ValueError:
        item_id = UUID(int=0)
    if item_id.version != 1 or cursor(item_id) != text:
        raise _bad_parameter("after", "no cursor of ours")
    return item_id


def _limit_of(request: web.Request) -> int:
    text = request.query.get("limit", str(DEFAULT_LIMIT))
    if not (text.isascii() and text.isdecimal() and len(text) <= 6 and 1 <= int(text) <= MAX_LIMIT):
        raise _bad_parameter("limit", f"a number from 1 to {MAX_LIMIT}")
    return int(text)


def _filter_of(request: web.Request) -> Filter:
    state = request.query.get("state", "all")
    if state not in FILTERS:
        raise _bad_parameter("state", f"one of {', '.join(FILTERS)}")
    return state


def _bad_parameter(name: str, detail: str) -> Problem:
    return Problem(400, "invalid_parameter", f"{name}: {detail}", errors=(FieldError(f"/{name}", detail),))
