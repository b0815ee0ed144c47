"""The HTTP side: what was received, what to answer from now on, and the pages."""

import msgspec
import orjson
from aiohttp import web
from aiohttp.typedefs import Handler

from notify_streams.providers.simulator import browse, changes
from notify_streams.providers.simulator.followed import answering
from notify_streams.providers.simulator.kit import Callbacks
from notify_streams.providers.simulator.log import Log
from notify_streams.providers.simulator.script import Rule, Script, Weather
from notify_streams.providers.simulator.smtp import Listener

_LARGEST = 16 * 1024 * 1024


def application(script: Script, log: Log, smtp: Listener, callbacks: Callbacks) -> web.Application:
    """The pages, and the routes that control it."""
    served = _Served(script, log, smtp, callbacks)
    app = web.Application(client_max_size=_LARGEST, middlewares=[changes.own_pages_only, _timed])
    app.add_routes(
        [
            *browse.routes(script, log),
            web.get("/log", served.entries),
            web.delete("/log", served.clear),
            web.get("/counts", served.counts),
            web.get("/script", served.rules),
            web.put("/script", served.put_rule),
            web.delete("/script", served.clear_rules),
            web.get("/weather", served.weather),
            web.put("/weather", served.put_weather),
            web.get("/healthz", served.healthy),
            web.get("/readyz", served.ready),
        ]
    )
    return app


@web.middleware
async def _timed(request: web.Request, handler: Handler) -> web.StreamResponse:
    with answering():
        return await handler(request)


class _Served:
    def __init__(self, script: Script, log: Log, smtp: Listener, callbacks: Callbacks) -> None:
        self._script = script
        self._log = log
        self._smtp = smtp
        self._callbacks = callbacks

    async def entries(self, request: web.Request) -> web.Response:
        since = request.query.get("since", "0")
        if not (since.isascii() and since.isdigit() and len(since) <= 18):
            return _problem("since: expected the number that an earlier answer gave as next")
        entries, position = self._log.since(int(since))
        return _json({"entries": entries, "next": position})

    async def clear(self, request: web.Request) -> web.Response:
        self._log.clear()
        return web.Response(status=204)

    async def counts(self, request: web.Request) -> web.Response:
        counts, words = self._log.counts, ("accepted", "refused", "dropped")
        providers = sorted({provider for provider, _ in self._log.by_provider})
        by_provider = {p: {word: self._log.by_provider[p, word] for word in words} for p in providers}
        callbacks = {
            name: getattr(self._callbacks, name) for name in ("posted", "refused", "waiting", "left_out", "by_provider")
        }
        return _json({**{word: counts[word] for word in words}, "providers": by_provider, "callbacks": callbacks})

    async def rules(self, request: web.Request) -> web.Response:
        return _json(msgspec.to_builtins(self._script.rules))

    async def put_rule(self, request: web.Request) -> web.Response:
        try:
            rule = msgspec.json.decode(await request.read(), type=Rule)
        except msgspec.DecodeError as error:
            return _problem(str(error))
        self._script.put(rule)
        return _json(msgspec.to_builtins(rule))

    async def weather(self, request: web.Request) -> web.Response:
        return _json(msgspec.to_builtins(self._script.weather))

    async def put_weather(self, request: web.Request) -> web.Response:
        try:
            weather = msgspec.json.decode(await request.read(), type=Weather)
        except msgspec.DecodeError as error:
            return _problem(str(error))
        self._script.forecast(weather)
        return _json(msgspec.to_builtins(weather))

    async def clear_rules(self, request: web.Request) -> web.Response:
        self._script.clear()
        return web.Response(status=204)

    async def healthy(self, request: web.Request) -> web.Response:
        return _json({"status": "ok"})

    async def ready(self, request: web.Request) -> web.Response:
        ready = self._smtp.serving
        return _json({"status": "ok" if ready else "SMTP does not listen"}, 200 if ready else 503)


def _json(value: object, status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(value), status=status, content_type="application/json")


def _problem(detail: str) -> web.Response:
    body = orjson.dumps({"title": "Bad request", "status": 400, "detail": detail})
    return web.Response(body=body, status=400, content_type="application/problem+json")
