"""DELETE a notification, and cancel by collapse key: commands on the log; what came of them is in the status."""

from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Annotated, Literal

import msgspec
from aiohttp import web

from notify_streams.domain import ids
from notify_streams.domain.accept import why_no_key, why_no_user_id
from notify_streams.gateway import bodies, problems
from notify_streams.gateway.auth import Auth
from notify_streams.gateway.commands import by, new_command_id
from notify_streams.gateway.keys import Key
from notify_streams.gateway.ledger import Ledger
from notify_streams.gateway.notifications import named
from notify_streams.gateway.problems import Problem, invalid
from notify_streams.gateway.publisher import Publisher
from notify_streams.gateway.rates import Rates
from notify_streams.gateway.routes import Route, json_response
from notify_streams.ports import RecordStore, Unavailable
from notify_streams.streaming import topics
from schemas.codec import encode
from schemas.commands import CancelV1, FieldError
from schemas.decisions import DecisionV1
from schemas.events import Key as SharedKey

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=1024)]
_STATUS = "/v1/notifications/{notification_id}"
_QUERY = {
    "user_id": "whose it is, as the 202 said; looked up when left out",
    "source": "with user_id and event_id: shows whose it is before it is recorded",
    "event_id": "see source",
    "dedupe_key": "instead of event_id where the event has one",
}


class CancelCollapsed(msgspec.Struct, frozen=True, kw_only=True):
    """The newest notification of a user under a collapse key of one's own."""

    source: Text
    collapse_key: SharedKey
    user_id: str


class Cancelling(msgspec.Struct, frozen=True):
    """The 202: the command is in the log. `see` then says what was cancelled and what was too late.

    Where only the collapse key was given, `see` holds `{notification_id}`: those of the events' own 202s.
    """

    status: Literal["pending"]
    command_id: str
    see: str


class Owner(msgspec.Struct, frozen=True):
    """Whose a notification is, and who published its event."""

    user_id: str
    source: str


@dataclass(frozen=True, slots=True)
class Cancels:
    """Takes orders to stop what is under way."""

    auth: Auth
    records: RecordStore
    ledger: Ledger
    publisher: Publisher
    rates: Rates

    def routes(self) -> tuple[Route, ...]:
        """By id, and by collapse key."""
        return (
            Route(
                method="DELETE",
                path=_STATUS,
                handler=self.delete,
                summary="Cancel a notification",
                who="producer, operator",
                query=_QUERY,
                answers={202: Cancelling},
                problems=(400, 401, 403, 404, 429, 503),
            ),
            Route(
                method="POST",
                path="/v1/cancel",
                handler=self.cancel,
                summary="Cancel the newest under a collapse key",
                who="producer, operator",
                body=CancelCollapsed,
                answers={202: Cancelling},
                problems=(400, 401, 403, 413, 415, 422, 429, 503),
            ),
        )

    async def delete(self, request: web.Request) -> web.Response:
        """202 once the command is on the log, also for what has been sent already. To a producer, notifications of
        other sources do not exist.
        """
        key = self._counted(request)
        notification_id = named(request)
        user_id = await self._whose(key, notification_id, request.query)
        command = CancelV1(command_id=new_command_id(), by=by(key), notification_id=notification_id)
        return await self._give(user_id, command, _STATUS.format(notification_id=notification_id))

    async def cancel(self, request: web.Request) -> web.Response:
        """202 once the command is on the log, whether or not there is such a notification."""
        key = self._counted(request)
        body = await bodies.read(request, CancelCollapsed)
        for at, fault in (("/user_id", why_no_user_id(body.user_id)), ("/collapse_key", why_no_key(body.collapse_key))):
            if fault is not None:
                raise invalid("invalid_body", fault, at)
        if not key.may_name(body.source):
            raise Problem(403, "source_not_allowed", "this key may not cancel notifications of that source")
        command = CancelV1(command_id=new_command_id(), by=by(key), source=body.source, collapse_key=body.collapse_key)
        return await self._give(body.user_id, command, _STATUS)

    def _counted(self, request: web.Request) -> Key:
        key = self.auth.key(request, "producer")
        self.rates.take(key.name, key.rate, monotonic())
        return key

    async def _give(self, user_id: str, command: CancelV1, see: str) -> web.Response:
        await self.publisher.publish(topics.USER_COMMANDS, user_id.encode(), encode(command))
        headers = None if "{" in see else {"Location": see}
        return json_response(encode(Cancelling("pending", command.command_id, see)), status=202, headers=headers)

    async def _whose(self, key: Key, notification_id: str, query: Mapping[str, str]) -> str:
        """By what is known of it, else by what the caller shows: its id is made of source, event and user, so naming
        these proves whose it is. Without that proof a key for some sources could stop the others', for as long as
        nothing is recorded of them; a key for all sources needs no proof.
        """
        given, shown = _given(query), _shown(query, notification_id)
        try:
            owner = await self._owner(notification_id)
        except Unavailable:
            if shown is None and not (given and key.names_all):
                raise
            owner = None
        owner = owner or shown
        if owner is None:
            return _unrecorded(key, given)
        if not key.may_name(owner.source):
            raise problems.not_found()
        if given is not None and given != owner.user_id:
            raise _bad_parameter("user_id", "the notification is another user's")
        return owner.user_id

    async def _owner(self, notification_id: str) -> Owner | None:
        """By the mark of the 202, else by the first decision. Raises Unavailable."""
        try:
            mark = await self.ledger.mark(notification_id)
        except Unavailable:
            mark = None
        if mark is not None:
            return Owner(mark.user_id, mark.source)
        for fact in await self.records.facts(notification_id):
            if isinstance(fact, DecisionV1):
                return Owner(fact.notification.user_id, fact.notification.source)
        return None


def _unrecorded(key: Key, user_id: str | None) -> str:
    if user_id is not None and key.names_all:
        return user_id
    needed = "user_id" if key.names_all else "user_id, source and event_id (or dedupe_key)"
    raise Problem(404, "not_found", f"nothing is recorded of it (yet): to cancel it all the same give {needed}")


def _given(query: Mapping[str, str]) -> str | None:
    user_id = query.get("user_id")
    fault = why_no_user_id(user_id) if user_id is not None else None
    if fault is not None:
        raise _bad_parameter("user_id", fault)
    return user_id


def _shown(query: Mapping[str, str], notification_id: str) -> Owner | None:
    """Whose the notification is by the caller's own account, which its id confirms. Raises a 400."""
    source, event_id, dedupe_key = (query.get(name) for name in ("source", "event_id", "dedupe_key"))
    if source is None and event_id is None and dedupe_key is None:
        return None
    named_by = "dedupe_key" if dedupe_key is not None else "event_id"
    for name in ("user_id", "source", named_by):
        if not query.get(name):
            raise _bad_parameter(name, "required: source, user_id and event_id (or dedupe_key) go together")
    user_id = query["user_id"]
    if ids.notification_id(source or "", event_id or "", dedupe_key, user_id) != notification_id:
        raise _bad_parameter(named_by, "that event for that user is another notification")
    return Owner(user_id, source or "")


def _bad_parameter(name: str, detail: str) -> Problem:
    return Problem(400, "invalid_parameter", f"{name}: {detail}", errors=(FieldError(f"/{name}", detail),))
