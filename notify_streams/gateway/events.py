"""POST /v1/events: checked by the code that ingest uses, in the log before the 202."""

from dataclasses import dataclass
from time import monotonic, time

import msgspec
from aiohttp import web

from notify_streams import metrics
from notify_streams.domain import accept
from notify_streams.gateway import envelopes
from notify_streams.gateway.auth import Auth
from notify_streams.gateway.envelopes import Envelope, envelope_of
from notify_streams.gateway.keys import Key
from notify_streams.gateway.ledger import Claimed, Ledger, Mark, Mine, OtherBody, Taken, UnderWay, claim_patiently
from notify_streams.gateway.problems import Problem
from notify_streams.gateway.publisher import Publisher
from notify_streams.gateway.rates import Rates
from notify_streams.gateway.routes import Route, json_response
from notify_streams.ports import Unavailable
from notify_streams.streaming import topics
from schemas.catalogue import Catalogue
from schemas.codec import encode
from schemas.events import CloudEvent

_WAIT_S = 2.0


class Ref(msgspec.Struct, frozen=True):
    """A notification that an event gives rise to."""

    user_id: str
    notification_id: str


class EventAccepted(msgspec.Struct, frozen=True):
    """The 202: the event is in the log."""

    event_id: str
    notifications: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class Events:
    """Takes events from producers."""

    auth: Auth
    catalogue: Catalogue
    limits: accept.Limits
    publisher: Publisher
    ledger: Ledger
    rates: Rates

    def routes(self) -> tuple[Route, ...]:
        """POST /v1/events."""
        return (
            Route(
                method="POST",
                path="/v1/events",
                handler=self.post,
                summary="Publish an event: a CloudEvent (structured or binary), or its short form",
                who="producer",
                body=CloudEvent,
                media_type=envelopes.STRUCTURED,
                headers={"Idempotency-Key": "Required in the short form, where it is the event's id"},
                answers={202: EventAccepted},
                problems=(400, 401, 403, 409, 413, 415, 422, 429, 503),
            ),
        )

    async def post(self, request: web.Request) -> web.Response:
        """Every answer but the 202 leaves nothing behind, or (503) something that repeating completes."""
        key = self.auth.key(request, "producer")
        self.rates.take(key.name, key.rate, monotonic())
        body = await request.read()
        try:
            envelope = envelope_of(request.headers, body, key.own_source).of_tenant(key.tenant)
            accepted = self._accepted(envelope, key)
            if not envelope.flat or "ce_id" in envelope.headers:
                envelopes.check_idempotency_key(request.headers, accepted.event.id)
        except Problem:
            metrics.EVENTS.labels("rejected").inc()
            raise
        return await self._once(envelope, accepted)

    def _accepted(self, envelope: Envelope, key: Key) -> accept.Accepted:
        record = accept.Record(
            value=envelope.value,
            headers=envelope.headers,
            lane="high",
            accepted_at=round(time() * 1000),
            origin="http",
        )
        return permitted(accept.accept(record, self.catalogue, self.limits), envelope, key)

    async def _once(self, envelope: Envelope, accepted: accept.Accepted) -> web.Response:
        """Publish unless the ledger knows it; without the ledger publish anyway: the ids are deterministic."""
        identity, digest = identity_of(accepted.event), envelope.digest
        try:
            claimed: Claimed | None = await claim_patiently(self.ledger, identity, digest, wait_s=_WAIT_S)
        except Unavailable:
            claimed = None
        match claimed:
            case Taken(answer):
                metrics.EVENTS.labels("replayed").inc()
                return json_response(answer, status=202, headers={"Idempotency-Replayed": "true"})
            case OtherBody():
                metrics.EVENTS.labels("rejected").inc()
                raise Problem(422, "idempotency_key_reused", "this key was used for another body within 24 hours")
            case UnderWay():
                raise Problem(409, "in_progress", "a request with this key is under way", headers={"Retry-After": "1"})
            case Mine() | None:
                return await self._publish(envelope, accepted, identity, digest, checked=claimed is not None)

    async def _publish(
        self, envelope: Envelope, accepted: accept.Accepted, identity: str, digest: bytes, *, checked: bool
    ) -> web.Response:
        user = accepted.notifications[0].user_id.encode()
        try:
            await self.publisher.publish(
                topics.events(accepted.lane), user, envelope.value, tuple(envelope.headers.items())
            )
        except BaseException:  # whatever ended it, the same key must stay usable
            metrics.EVENTS.labels("unconfirmed").inc()
            if checked:
                await self._forget(identity, digest)
            raise
        metrics.EVENTS.labels("published").inc()
        answer = encode(_answer(accepted))
        try:
            await self.ledger.taken(identity, digest, answer, tuple(marks_of(accepted)))
        except Unavailable:
            checked = False
        return json_response(answer, status=202, headers=None if checked else {"Idempotency-Checked": "false"})

    async def _forget(self, identity: str, digest: bytes) -> None:
        try:
            await self.ledger.unconfirmed(identity, digest)
        except Unavailable:
            return  # the claim runs out by itself


def permitted(judged: accept.Accepted | accept.Rejected, envelope: Envelope, key: Key) -> accept.Accepted:
    """What was accepted, if the key may say it. Raises the problem that points at what is wrong, or a 403."""
    if isinstance(judged, accept.Rejected):
        raise envelopes.problem_of(judged, flat=envelope.flat)
    if not key.may_name(judged.event.source):
        raise Problem(403, "source_not_allowed", "this key may not publish events of that source")
    if not key.may_publish(judged.event.type):
        raise Problem(403, "type_not_allowed", f"this key may not publish events of type {judged.event.type}")
    return judged


def identity_of(event: CloudEvent) -> str:
    """Under what it is known for a day."""
    return msgspec.json.encode((event.source, event.id)).decode()


def _answer(accepted: accept.Accepted) -> EventAccepted:
    refs = tuple(Ref(n.user_id, n.notification_id) for n in accepted.notifications)
    return EventAccepted(accepted.event.id, refs)


def marks_of(accepted: accept.Accepted) -> list[Mark]:
    """What is known of its notifications until they are recorded."""
    return [
        Mark(
            notification_id=n.notification_id,
            event_id=n.event_id,
            source=n.source,
            type=n.type,
            user_id=n.user_id,
            accepted_at=n.accepted_at,
        )
        for n in accepted.notifications
    ]
