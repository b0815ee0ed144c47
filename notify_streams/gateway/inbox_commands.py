"""POST read, unread, archive, read-all and seen-all: what people do to their inbox."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any
from uuid import UUID

import msgspec
from aiohttp import web

from notify_streams.gateway import bodies, problems
from notify_streams.gateway.asking import Asking
from notify_streams.gateway.auth import Auth, Caller
from notify_streams.gateway.commands import by, etag, new_command_id
from notify_streams.gateway.inbox_views import Counts
from notify_streams.gateway.problems import Problem
from notify_streams.gateway.rates import Rates
from notify_streams.gateway.routes import Route, json_response
from notify_streams.streaming import topics
from schemas.codec import encode
from schemas.inbox import InboxAction, InboxCommandV1, InboxResultV1
from schemas.words import Sequence

PATH = "/v1/users/{user_id}/inbox"
_ITEM_ACTIONS: tuple[InboxAction, ...] = ("read", "unread", "archive")


class UpTo(msgspec.Struct, frozen=True):
    """All whose sequence is at most `up_to`; left out, all that are there when the command is met."""

    up_to: Sequence | None = None


class Pending(msgspec.Struct, frozen=True):
    """The 202: the command is in the log and will be carried out; the stream and the counts will show it."""

    status: str
    command_id: str


@dataclass(frozen=True, slots=True)
class InboxCommands:
    """Gives commands to the inbox role."""

    auth: Auth
    asking: Asking
    rates: Rates
    rate: int
    clock: Callable[[], int]

    def routes(self) -> tuple[Route, ...]:
        """Three for one item, two for all."""
        one = (self._route(f"/{{item}}/{action}", partial(self.one, action), action) for action in _ITEM_ACTIONS)
        return (
            *one,
            self._route("/read-all", partial(self.all, "read"), "read, all up to a sequence", UpTo),
            self._route("/seen-all", partial(self.all, "seen"), "seen, all up to a sequence", UpTo),
        )

    def _route(self, path: str, handler: Any, words: str, body: Any = None) -> Route:
        return Route(
            method="POST",
            path=PATH + path,
            handler=handler,
            summary=f"Mark: {words}",
            who="user",
            body=body,
            answers={200: Counts, 202: Pending},
            problems=(400, 401, 404, 413, 415, 422, 429, 503),
        )

    async def one(self, action: InboxAction, request: web.Request) -> web.Response:
        """The counts after it. An item that is not there, or is so already, changes nothing."""
        user_id, caller = self.auth.about(request)
        item = _item_of(request.match_info["item"])
        return await self._give(user_id, caller, action, item_ids=(item,))

    async def all(self, action: InboxAction, request: web.Request) -> web.Response:
        """The counts after it."""
        user_id, caller = self.auth.about(request)
        body = await bodies.read(request, UpTo, known=UpTo.__struct_fields__) if request.can_read_body else UpTo()
        up_to = 2**63 - 1 if body.up_to is None else body.up_to
        return await self._give(user_id, caller, action, up_to=up_to)

    async def _give(self, user_id: str, caller: Caller, action: InboxAction, **which: Any) -> web.Response:
        self.rates.take(f"inbox/{user_id}", self.rate, monotonic(), what="an inbox takes {} commands a second")
        command = InboxCommandV1(command_id=new_command_id(), action=action, at=self.clock(), by=by(caller), **which)
        key, value = user_id.encode(), encode(command)
        result = await self.asking.ask(topics.INBOX_COMMANDS, key, value, command.command_id)
        if not isinstance(result, InboxResultV1):  # in time there is none
            return json_response(encode(Pending("pending", command.command_id)), status=202)
        if result.errors:
            raise Problem(422, "invalid_command", result.errors[0].detail, errors=result.errors)
        counts = Counts(result.unread, result.unseen, result.sequence)
        return json_response(encode(counts), headers={"ETag": etag(result.sequence)})


def _item_of(text: str) -> str:
    """An item id as it is kept. Raises the 404 of what is not there: no other text can be one."""
    try:
        item = UUID(text)
    except ValueError:
        raise problems.not_found() from None
    if item.version != 1 or len(text) != 36:
        raise problems.not_found()
    return str(item)
