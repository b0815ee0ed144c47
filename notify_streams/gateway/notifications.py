"""GET a notification's status, and the explanation of what was decided."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec
from aiohttp import web

from notify_streams.domain import ids
from notify_streams.domain.status import NotificationStatus
from notify_streams.gateway import problems
from notify_streams.gateway.auth import Auth
from notify_streams.gateway.keys import Key
from notify_streams.gateway.ledger import Ledger, Mark
from notify_streams.gateway.problems import Problem
from notify_streams.gateway.routes import Route, json_response
from notify_streams.ports import RecordStore, Unavailable
from schemas.codec import encode
from schemas.commands import FieldError
from schemas.decisions import DecisionV1
from schemas.facts import Fact
from schemas.words import State

Told = Callable[[str, Sequence[Fact]], Any]
_NAMES = ("user_id", "source", "event_id")


@dataclass(frozen=True, slots=True)
class Notifications:
    """Answers from facts. `status` folds them, `explain` puts them into words; None where nothing is known."""

    auth: Auth
    records: RecordStore
    ledger: Ledger
    status: Told
    explain: Told

    def routes(self) -> tuple[Route, ...]:
        """Status, and two ways to an explanation."""
        return (
            Route(
                method="GET",
                path="/v1/notifications/{notification_id}",
                handler=self.get,
                summary="A notification, its deliveries and their attempts",
                who="producer, operator",
                answers={200: NotificationStatus},
                problems=(401, 403, 404, 503),
            ),
            Route(
                method="GET",
                path="/v1/notifications/{notification_id}/explain",
                handler=self.explain_one,
                summary="What was decided, what was not sent, and why",
                who="operator",
                answers={200: "decision records in words and data"},
                problems=(401, 403, 404, 503),
            ),
            Route(
                method="GET",
                path="/v1/explain",
                handler=self.explain_event,
                summary="The same, by user and event",
                who="operator",
                query=dict.fromkeys(_NAMES, "required") | {"dedupe_key": "where the event had one"},
                answers={200: "decision records in words and data"},
                problems=(400, 401, 403, 404, 503),
            ),
        )

    async def get(self, request: web.Request) -> web.Response:
        """From the moment of the 202. To a producer, notifications of other sources do not exist."""
        key = self.auth.key(request, "producer")
        notification_id = named(request)
        facts = await self.records.facts(notification_id)
        status = self.status(notification_id, facts)
        if status is not None:
            if key.role != "operator" and not await self._is_of(key, notification_id, facts):
                raise problems.not_found()
            return json_response(encode(status))
        mark = await self._mark(notification_id)
        if mark is None or not key.may_name(mark.source):
            raise problems.not_found()
        accepted = NotificationStatus(state=State.ACCEPTED, **msgspec.structs.asdict(mark))
        return json_response(encode(accepted))

    async def explain_one(self, request: web.Request) -> web.Response:
        """By the notification's id."""
        self.auth.key(request)
        return await self._explained(named(request))

    async def explain_event(self, request: web.Request) -> web.Response:
        """By what the producer knows: the user and the event."""
        self.auth.key(request)
        missing = [name for name in _NAMES if not request.query.get(name)]
        if missing:
            errors = tuple(FieldError(f"/{name}", "required") for name in missing)
            raise Problem(400, "invalid_parameter", f"{missing[0]}: required", errors=errors)
        user_id, source, event_id = (request.query[name] for name in _NAMES)
        dedupe_key = request.query.get("dedupe_key")
        return await self._explained(ids.notification_id(source, event_id, dedupe_key, user_id))

    async def _explained(self, notification_id: str) -> web.Response:
        story = self.explain(notification_id, await self.records.facts(notification_id))
        if story is None:
            raise problems.not_found()
        return json_response(encode(story))

    async def _is_of(self, key: Key, notification_id: str, facts: Sequence[Fact]) -> bool:
        """By the decision, else by the mark; what has neither belongs to nobody."""
        for fact in facts:
            if isinstance(fact, DecisionV1):
                return key.may_name(fact.notification.source)
        mark = await self._mark(notification_id)
        return mark is not None and key.may_name(mark.source)

    async def _mark(self, notification_id: str) -> Mark | None:
        try:
            return await self.ledger.mark(notification_id)
        except Unavailable:
            return None


def named(request: web.Request) -> str:
    """The id in the path, in its usual spelling. What is no UUID does not exist."""
    try:
        return str(UUID(request.match_info["notification_id"]))
    except ValueError:
        raise problems.not_found() from None
