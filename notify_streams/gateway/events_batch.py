"""POST /v1/events/batch: many events in one request, each with a result of its own."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import monotonic, time

import msgspec
from aiohttp import web

from notify_streams import metrics
from notify_streams.domain import accept
from notify_streams.domain.json_checks import BadJson, decoded
from notify_streams.gateway import envelopes
from notify_streams.gateway.auth import Auth
from notify_streams.gateway.envelopes import Envelope
from notify_streams.gateway.events import EventAccepted, Ref, identity_of, marks_of, permitted
from notify_streams.gateway.keys import Key
from notify_streams.gateway.ledger import Claimed, Ledger, Mine, OtherBody, Taken, UnderWay
from notify_streams.gateway.problems import Problem, invalid
from notify_streams.gateway.publisher import BatchPublisher, Record
from notify_streams.gateway.rates import Rates
from notify_streams.gateway.routes import Route, json_response
from notify_streams.ports import Unavailable
from notify_streams.streaming import topics
from schemas.catalogue import Catalogue
from schemas.codec import encode
from schemas.commands import FieldError

BATCH_TYPE = "application/cloudevents-batch+json"
MOST = 1000
_REJECTED = frozenset({400, 403, 413, 415, 422})
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


class Result(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What became of one event. `status` is what it would have been alone: 202, or that of its problem."""

    status: int
    event_id: str = ""
    notifications: tuple[Ref, ...] = ()
    replayed: bool = False
    code: str = ""
    detail: str = ""
    errors: tuple[FieldError, ...] = ()


_UNCONFIRMED = Result(status=503, code="unavailable", detail="not confirmed: repeat the event as it is")


class _Good(msgspec.Struct, frozen=True):
    """An event that may go into the log, and where it stands in the list."""

    place: int
    envelope: Envelope
    accepted: accept.Accepted
    identity: str
    digest: bytes


@dataclass(frozen=True, slots=True)
class EventsBatch:
    """Takes events from producers, up to a thousand at once. `most_bytes` is what a body may have."""

    auth: Auth
    catalogue: Catalogue
    limits: accept.Limits
    publisher: BatchPublisher
    ledger: Ledger
    rates: Rates
    most_bytes: int

    def routes(self) -> tuple[Route, ...]:
        """The one."""
        return (
            Route(
                method="POST",
                path="/v1/events/batch",
                handler=self.post,
                summary=f"Publish up to {MOST} events: CloudEvents, or short forms with a member idempotency_key",
                who="producer",
                media_type=BATCH_TYPE,
                answers={207: tuple[Result, ...]},
                problems=(400, 401, 403, 413, 415, 422, 429, 503),
            ),
        )

    async def post(self, request: web.Request) -> web.Response:
        """One result per event, in their order. A bad one harms no other; a repeated request completes the rest."""
        key = self.auth.key(request, "producer")
        items = await self._read(request)
        self.rates.take(key.name, key.rate, monotonic(), count=len(items))
        results: list[Result | None] = [None] * len(items)
        good = list(self._good(items, key, results))
        claimed, checked = await self._claimed(good)
        mine = [one for one, claim in zip(good, claimed, strict=True) if isinstance(claim, Mine)]
        for one, claim in zip(good, claimed, strict=True):
            if not isinstance(claim, Mine):
                results[one.place] = _known(claim)
        await self._publish(mine, results, checked=checked)
        headers = None if checked else {"Idempotency-Checked": "false"}
        return json_response(encode(results), status=207, headers=headers)

    async def _read(self, request: web.Request) -> list[msgspec.Raw]:
        content_type = request.headers.get("Content-Type", "application/json").partition(";")[0].strip().lower()
        if content_type not in (BATCH_TYPE, "application/json"):
            raise Problem(415, "unsupported_media_type", f"batches come as {BATCH_TYPE} or application/json")
        body = await request.clone(client_max_size=self.most_bytes).read()
        try:
            items = _items(body)
        except msgspec.ValidationError:
            raise invalid("invalid_body", "a list of events is expected", "") from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise _no_json(body) from None
        if not 1 <= len(items) <= MOST:
            raise invalid("invalid_body", f"{len(items)} events; a batch has 1 to {MOST}", "")
        return items

    def _good(self, items: Sequence[msgspec.Raw], key: Key, results: list[Result | None]) -> Iterator[_Good]:
        """Those that can be taken; the others get their results. The same event twice counts once."""
        now, seen = round(time() * 1000), dict[str, _Good]()
        for place, item in enumerate(items):
            try:
                envelope = envelopes.envelope_in_batch(bytes(item), key.own_source).of_tenant(key.tenant)
                record = accept.Record(
                    value=envelope.value, headers=envelope.headers, lane="high", accepted_at=now, origin="http"
                )
                accepted = permitted(accept.accept(record, self.catalogue, self.limits), envelope, key)
                good = _Good(place, envelope, accepted, identity_of(accepted.event), envelope.digest)
                first = seen.setdefault(good.identity, good)
                if first.digest != good.digest:
                    raise Problem(422, "idempotency_key_reused", "another event of this batch has the same id")
            except Problem as problem:
                results[place] = _refused(problem)
                continue
            if first is good:
                yield good
            else:
                results[place] = _accepted(good, replayed=True)

    async def _claimed(self, good: Sequence[_Good]) -> tuple[Sequence[Claimed], bool]:
        try:
            return await self.ledger.claim_all([(one.identity, one.digest) for one in good]), True
        except Unavailable:
            return [Mine()] * len(good), False

    async def _publish(self, mine: Sequence[_Good], results: list[Result | None], *, checked: bool) -> None:
        records = [
            Record(
                topics.events(one.accepted.lane),
                one.accepted.notifications[0].user_id.encode(),
                one.envelope.value,
                tuple(one.envelope.headers.items()),
            )
            for one in mine
        ]
        try:
            done = await self.publisher.publish_all(records) if records else ()
        except Unavailable:
            done = [False] * len(mine)
        sent = [one for one, is_there in zip(mine, done, strict=True) if is_there]
        for one, is_there in zip(mine, done, strict=True):
            results[one.place] = _accepted(one) if is_there else _UNCONFIRMED
        metrics.EVENTS.labels("published").inc(len(sent))
        metrics.EVENTS.labels("unconfirmed").inc(len(mine) - len(sent))
        known = [one for one in results if one is not None]
        metrics.EVENTS.labels("replayed").inc(sum(one.replayed for one in known))
        metrics.EVENTS.labels("rejected").inc(sum(one.status in _REJECTED for one in known))
        if checked:
            await self._keep(sent, [one for one, is_there in zip(mine, done, strict=True) if not is_there])

    async def _keep(self, sent: Sequence[_Good], unconfirmed: Sequence[_Good]) -> None:
        try:
            await self.ledger.taken_all(
                [(one.identity, one.digest, encode(_answer(one)), tuple(marks_of(one.accepted))) for one in sent]
            )
            for one in unconfirmed:
                await self.ledger.unconfirmed(one.identity, one.digest)
        except Unavailable:
            return  # claims run out by themselves, and the ids are deterministic


def _answer(one: _Good) -> EventAccepted:
    refs = tuple(Ref(n.user_id, n.notification_id) for n in one.accepted.notifications)
    return EventAccepted(one.accepted.event.id, refs)


def _accepted(one: _Good, *, replayed: bool = False) -> Result:
    answer = _answer(one)
    return Result(status=202, event_id=answer.event_id, notifications=answer.notifications, replayed=replayed)


def _known(claim: Claimed) -> Result:
    match claim:
        case Taken(answer):
            known = msgspec.json.decode(answer, type=EventAccepted)
            return Result(status=202, event_id=known.event_id, notifications=known.notifications, replayed=True)
        case OtherBody():
            return _refused(
                Problem(422, "idempotency_key_reused", "this key was used for another body within 24 hours")
            )
        case UnderWay() | Mine():
            return _refused(Problem(409, "in_progress", "a request with this key is under way"))


def _refused(problem: Problem) -> Result:
    body = problem.body
    return Result(status=body.status, code=body.code, detail=body.detail, errors=body.errors)


def _no_json(body: bytes) -> Problem:
    try:
        decoded(body)
    except BadJson as bad:
        at = envelopes.pointer_of(bad.path, flat=False)
        return Problem(400, "invalid_json", bad.reason, errors=(FieldError(at, bad.reason),))
    except RecursionError:
        return Problem(400, "too_deep", "nested too deeply")
    return Problem(400, "invalid_json", "no JSON")
