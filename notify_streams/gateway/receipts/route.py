"""POST /v1/receipts/{provider}: what providers say later, and texts that people send back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aiohttp import web

from notify_streams.gateway.problems import Problem, not_found
from notify_streams.gateway.receipts.readers import Reader
from notify_streams.gateway.receipts.said import Callback, Item, Refusal, Text
from notify_streams.gateway.receipts.taking import Source, Taking
from notify_streams.gateway.routes import Route, json_response
from notify_streams.metrics import RECEIPTS
from schemas.codec import encode

MOST_BYTES = 2 * 1024 * 1024
# Twilio sends the confirmation of STOP and START itself ("Twilio support for opt-out keywords"): a second is not sent.
_NO_ANSWER = b'<?xml version="1.0" encoding="UTF-8"?><Response/>'


@dataclass(frozen=True, slots=True)
class Receipts:
    """`public_url` is how providers reach the gateway: Twilio signs it. `clock` in ms."""

    readers: Mapping[str, tuple[Reader, Source]]
    taking: Taking
    public_url: str
    clock: Callable[[], int]

    def routes(self) -> tuple[Route, ...]:
        """The one."""
        return (
            Route(
                method="POST",
                path="/v1/receipts/{provider}",
                handler=self.post,
                summary="A provider's callback, signed by it; copies change nothing",
                answers={200: "TwiML without a message, for a text sent to us", 202: "counts by what became of it"},
                problems=(400, 401, 404, 413, 503),
            ),
        )

    async def post(self, request: web.Request) -> web.Response:
        """2xx once all that follows is on the log. Nothing of the body is looked at before its signature holds."""
        known = self.readers.get(request.match_info["provider"])
        if known is None:
            raise not_found()
        reader, source = known
        now = self.clock()
        items = await reader.read(await self._callback(request, now))
        if isinstance(items, Refusal):
            RECEIPTS.labels(provider=source.name, outcome=items.code, state="").inc()
            raise Problem(items.status, items.code, items.reason)
        return _answer(items, await self.taking.take(source, items, now))

    async def _callback(self, request: web.Request, now: int) -> Callback:
        base = self.public_url.rstrip("/") or f"{request.scheme}://{request.host}"
        return Callback(
            body=await _body(request),
            headers={name.lower(): value for name, value in request.headers.items()},
            url=base + request.raw_path,
            query=dict(request.query),
            now=now,
        )


def _answer(items: list[Item], counts: Mapping[str, int]) -> web.Response:
    if any(isinstance(item, Text) for item in items):
        return web.Response(body=_NO_ANSWER, content_type="text/xml", charset="utf-8")
    return json_response(encode(counts), status=202)


async def _body(request: web.Request) -> bytes:
    """The bytes as they came. Raises a 413."""
    body = bytearray()
    async for chunk in request.content.iter_any():
        body += chunk
        if len(body) > MOST_BYTES:
            raise web.HTTPRequestEntityTooLarge(MOST_BYTES, len(body))
    return bytes(body)
