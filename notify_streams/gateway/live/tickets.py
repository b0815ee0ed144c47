"""POST /v1/stream/ticket: a secret for one SSE stream, where a page can set no header. Good once, for half a minute."""

import secrets
from dataclasses import dataclass
from hashlib import sha256

import msgspec
from aiohttp import web

from notify_streams.gateway.auth import Auth, User
from notify_streams.gateway.inbox_cache import Asks
from notify_streams.gateway.problems import Problem
from notify_streams.gateway.routes import Route, json_response
from notify_streams.gateway.tokens import unauthorized
from notify_streams.ports import Unavailable
from notify_streams.stores.inbox_keys import InboxKeys
from schemas.codec import encode

GOOD_FOR_S = 30
_decode = msgspec.json.Decoder(User).decode


class Ticket(msgspec.Struct, frozen=True):
    """For `GET /v1/stream/sse?ticket=`; within so many seconds."""

    ticket: str
    expires_in: int = GOOD_FOR_S


@dataclass(frozen=True, slots=True)
class Tickets:
    """Redis keeps a hash and whose it is: who reads Redis cannot use it, and who uses it has used it up."""

    auth: Auth
    redis: Asks
    keys: InboxKeys

    def routes(self) -> tuple[Route, ...]:
        """The one."""
        return (
            Route(
                method="POST",
                path="/v1/stream/ticket",
                handler=self.give,
                summary="A ticket for one SSE stream, good once and for 30 s",
                who="user",
                answers={200: Ticket},
                problems=(401, 403, 503),
            ),
        )

    async def give(self, request: web.Request) -> web.Response:
        """The stream ends when the token that was shown here does."""
        caller = self.auth.caller(request)
        if not isinstance(caller, User):
            raise Problem(403, "forbidden", "tickets are for users: this needs a user's token")
        secret = secrets.token_urlsafe(32)
        command = (b"SET", self._key(secret), encode(caller), b"EX", b"%d" % GOOD_FOR_S)
        try:
            await self.redis.ask(command)
        except Unavailable:
            raise _away() from None
        return json_response(encode(Ticket(secret)))

    async def take(self, secret: str) -> User:
        """Whose it is; from now on nobody's. Raises a 401, or a 503 when that cannot be known."""
        try:
            [found] = await self.redis.ask((b"GETDEL", self._key(secret)))
        except Unavailable:
            raise _away() from None
        if found is None:
            raise unauthorized("ticket_invalid", "there is no such ticket, it was used, or it is older than 30 s")
        return _decode(found)

    def _key(self, secret: str) -> bytes:
        return self.keys.ticket(sha256(secret.encode("utf-8", "replace")).hexdigest()).encode()


def _away() -> Problem:
    words = "tickets are kept in Redis, which does not answer: use the Authorization header, or WebSocket"
    return Problem(503, "tickets_unavailable", words, headers={"Retry-After": "2"})
