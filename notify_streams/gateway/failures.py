"""GET failed notifications: what failed, on which channel, and why; newest first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec
from aiohttp import web

from notify_streams.gateway.auth import Auth
from notify_streams.gateway.problems import Problem
from notify_streams.gateway.routes import Route, json_response
from notify_streams.ports import Records
from schemas.codec import encode
from schemas.commands import FieldError
from schemas.outcomes import OutcomeV1
from schemas.receipts import ReceiptV1
from schemas.words import CHANNELS, IN_WORDS, Channel, Reason

_DEFAULT_LIMIT, _MAX_LIMIT = 50, 500
_DAY_MS = 86_400_000
_LONGEST_DAYS = 90
Failure = OutcomeV1 | ReceiptV1


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """A delivery that failed, or that came back. `why` is `reason` in words, `detail` the provider's own code."""

    at: datetime
    notification_id: str
    delivery_id: str
    user_id: str
    type: str
    channel: Channel
    endpoint_id: str
    provider: str
    attempts: int
    reason: Reason | None
    why: str
    detail: str


class FailedPage(msgspec.Struct, frozen=True):
    """Some failures, and the cursor of what follows; null at the end."""

    items: tuple[Failed, ...]
    next: str | None


class _Cursor(msgspec.Struct, frozen=True, array_like=True):
    at: int
    delivery_id: str


@dataclass(frozen=True, slots=True)
class Failures:
    """Lists what failed. `clock` in ms."""

    auth: Auth
    records: Records
    clock: Callable[[], int]

    def routes(self) -> tuple[Route, ...]:
        """One."""
        return (
            Route(
                method="GET",
                path="/v1/notifications",
                handler=self.get,
                summary="Failed deliveries with their reasons, newest first",
                who="operator",
                query={
                    "state": "failed",
                    "channel": "required",
                    "since": "RFC 3339; a day ago when left out, at most 90 days",
                    "after": "the `next` of the page before",
                    "limit": f"1 to {_MAX_LIMIT}, {_DEFAULT_LIMIT} when left out",
                },
                answers={200: FailedPage},
                problems=(400, 401, 403, 503),
            ),
        )

    async def get(self, request: web.Request) -> web.Response:
        """One page."""
        self.auth.key(request)
        if request.query.get("state") != "failed":
            raise _bad("state", "failed is what can be listed")
        channel, limit, after = _channel_of(request), _limit_of(request), _after(request)
        since = self._since(request)
        found, more = await self.listed(channel, since=since, limit=limit, after=after)
        return json_response(encode(FailedPage(tuple(map(shown, found)), _cursor(found[-1]) if more else None)))

    async def listed(
        self, channel: Channel, *, since: int, limit: int, after: tuple[int, str] | None = None
    ) -> tuple[Sequence[Failure], bool]:
        """At most `limit` from `since` (ms) on, behind the one that `after` names; and whether there are more."""
        until, asked = self.clock() + 60_000 if after is None else after[0] + 1, limit + 1
        while True:
            rows = await self.records.failures(channel, since=since, until=until, limit=asked)
            left = [row for row in rows if after is None or (-row.at, row.delivery_id) > (-after[0], after[1])]
            if len(left) > limit or len(rows) < asked:
                return left[:limit], len(left) > limit
            asked *= 2

    def _since(self, request: web.Request) -> int:
        now, text = self.clock(), request.query.get("since")
        if text is None:
            return now - _DAY_MS
        try:
            at = datetime.fromisoformat(text)
        except ValueError:
            raise _bad("since", "an instant of RFC 3339, such as 2026-11-30T10:00:00Z") from None
        if at.tzinfo is None:
            raise _bad("since", "an instant needs its zone, such as Z")
        since = round(at.timestamp() * 1000)
        if since < now - _LONGEST_DAYS * _DAY_MS:
            raise _bad("since", f"at most {_LONGEST_DAYS} days back")
        return since


def shown(row: Failure) -> Failed:
    """As operators see it."""
    if isinstance(row, ReceiptV1):
        type_, endpoint, attempts, reason = "", "", 0, None
        why = "the provider reported it as undeliverable later"
    else:
        type_, endpoint, attempts, reason = row.type, row.endpoint_id, row.attempt, row.reason
        why = "" if reason is None else IN_WORDS.get(reason, reason.value)
    return Failed(
        at=datetime.fromtimestamp(row.at / 1000, UTC),
        notification_id=row.notification_id,
        delivery_id=row.delivery_id,
        user_id=row.user_id,
        type=type_,
        channel=row.channel,
        endpoint_id=endpoint,
        provider=row.provider,
        attempts=attempts,
        reason=reason,
        why=why,
        detail=row.detail,
    )


def _cursor(row: Failure) -> str:
    return encode(_Cursor(row.at, row.delivery_id)).hex()


def _after(request: web.Request) -> tuple[int, str] | None:
    text = request.query.get("after")
    if text is None:
        return None
    try:
        cursor = msgspec.json.decode(bytes.fromhex(text), type=_Cursor)
    except (ValueError, msgspec.DecodeError):
        raise _bad("after", "no cursor of ours") from None
    return cursor.at, cursor.delivery_id


def _channel_of(request: web.Request) -> Channel:
    channel = request.query.get("channel")
    if channel not in CHANNELS:
        raise _bad("channel", f"one of {', '.join(CHANNELS)}")
    return channel


def _limit_of(request: web.Request) -> int:
    text = request.query.get("limit", str(_DEFAULT_LIMIT))
    if not (text.isascii() and text.isdecimal() and len(text) <= 6 and 1 <= int(text) <= _MAX_LIMIT):
        raise _bad("limit", f"a number from 1 to {_MAX_LIMIT}")
    return int(text)


def _bad(name: str, detail: str) -> Problem:
    return Problem(400, "invalid_parameter", f"{name}: {detail}", errors=(FieldError(f"/{name}", detail),))
