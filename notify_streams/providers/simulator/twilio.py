"""Twilio on the simulator's HTTP port, below /twilio: messages in, status callbacks and people's answers out."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import orjson
from aiohttp import web

from notify_streams.providers.simulator import twilio_messages as twilio
from notify_streams.providers.simulator.asking import Kit, Told, event_of
from notify_streams.providers.simulator.over_http import broken_off
from notify_streams.providers.simulator.twilio_messages import Account, Invalid, Text

PROVIDER = "twilio"
_APART_S = 0.2  # between a message's statuses
_BY_STATUS = {401: 20003, 403: 20003, 404: 20404, 429: 20429, 500: 20500, 503: 20503}
# Posts a callback after so many seconds: URL, body, headers.
Post = Callable[[str, bytes, Mapping[str, str], float], None]


class Inbound(msgspec.Struct, frozen=True, rename={"sender": "from"}):
    """A text that somebody sends; `url` is what is set for the number in Twilio's console."""

    sender: str
    to: str
    body: str
    url: str


def routes(kit: Kit, account: Account, post: Post) -> list[web.RouteDef]:
    """`url` of the provider leads to /twilio."""
    served = _Served(kit, account, post)
    return [
        web.post(f"/twilio/{twilio.API}/Accounts/{{sid}}/Messages.json", served.create),
        web.post("/twilio/inbound", served.inbound),
    ]


class _Served:
    def __init__(self, kit: Kit, account: Account, post: Post) -> None:
        self._kit, self._account, self._post = kit, account, post

    async def create(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        try:
            twilio.authorize(self._account, request.match_info["sid"], request.headers.get("Authorization", ""))
            text = twilio.read(body)
        except Invalid as invalid:
            return _json(invalid.status, twilio.error(invalid.code, invalid.status))
        told = self._kit.script.next(PROVIDER, text.to)
        status, answer, headers = self._answer(told, text)
        self._kit.log.add(
            provider=PROVIDER,
            event="refused" if status >= 400 else event_of(told),
            to=text.to,
            answer=f"{status} {answer.get('code') or answer.get('sid') or ''}".rstrip() if status else told_kind(told),
            identity=text.reference,
            content=body,
        )
        if status == 201 or (told is not None and told.kind == "drop"):
            self._say(text)
        return await broken_off(request, told) or _json(status, answer, headers)

    async def inbound(self, request: web.Request) -> web.StreamResponse:
        """Somebody texts back."""
        try:
            said = msgspec.json.decode(await request.read(), type=Inbound)
        except msgspec.DecodeError as error:
            return _json(400, {"title": "Bad request", "status": 400, "detail": str(error)})
        self._call(said.url, twilio.inbound(self._account, said.sender, said.to, said.body), 0.0)
        return web.Response(status=202)

    def _answer(self, told: Told | None, text: Text) -> tuple[int, dict[str, Any], Mapping[str, str]]:
        code = twilio.magic(text.to)
        if told is None and code is not None:
            return 400, twilio.error(code, 400), {}
        if told is None or told.kind == "accept":
            return 201, twilio.created(text, self._account, self._kit.clock()), {}
        if told.kind != "refuse":
            return 0, {}, {}
        if told.body:
            return told.status, orjson.loads(told.body), told.headers
        code = _BY_STATUS.get(told.status, told.status)
        return told.status, twilio.error(code, told.status), told.headers

    def _say(self, text: Text) -> None:
        """Its statuses, one after the other."""
        if not text.callback:
            return
        for step, (word, code) in enumerate(twilio.fate(text.to), 1):
            fields = twilio.status(text, self._account, word, code, self._kit.clock())
            self._call(text.callback, fields, step * _APART_S)

    def _call(self, url: str, fields: Mapping[str, str], after_s: float) -> None:
        body, headers = twilio.signed(self._account, url, fields)
        self._post(url, body, headers, after_s)


def told_kind(told: Told | None) -> str:
    """How it stands in the log where no answer came."""
    return "" if told is None else told.kind


def _json(status: int, answer: Any, headers: Mapping[str, str] = {}) -> web.Response:
    return web.json_response(answer, status=status, headers=headers, dumps=lambda value: orjson.dumps(value).decode())
