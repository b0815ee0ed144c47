"""The pages over HTTP: the list, a message, weather and rules."""

from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

from notify_streams.providers.simulator import changes
from notify_streams.providers.simulator.log import Log, Mail
from notify_streams.providers.simulator.pages import behaviour, details, listing, rendering
from notify_streams.providers.simulator.script import Script

_PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; frame-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
# What a mail may do when it is shown: nothing but look like itself.
_MAIL_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
Change = Callable[[Script, Mapping[str, str]], None]


def routes(script: Script, log: Log) -> list[web.RouteDef]:
    """Addresses begin with /message where one is meant; /mail is what they were called before."""
    pages = _Pages(script, log)
    one = "/{kind:mail|message}/{n:\\d{1,15}}"
    return [
        web.get("/", pages.list),
        web.get(one, pages.message),
        web.get(one + "/html", pages.html),
        web.get(one + "/source", pages.source),
        web.get("/behaviour", pages.behaviour),
        web.post("/behaviour/weather", pages.changing(changes.weather)),
        web.post("/behaviour/rule", pages.changing(changes.rule)),
        web.post("/behaviour/clear", pages.changing(lambda script, _: script.clear())),
        web.get("/{name:style\\.css|page\\.js}", pages.asset),
    ]


class _Pages:
    def __init__(self, script: Script, log: Log) -> None:
        self._script, self._log = script, log

    async def list(self, request: web.Request) -> web.Response:
        return _page(listing.listing(self._log, listing.Asked.of(request.query)))

    async def message(self, request: web.Request) -> web.Response:
        entry = self._log.entry(int(request.match_info["n"]))
        return _page(details.missing(), 404) if entry is None else _page(details.message(self._log, entry))

    async def html(self, request: web.Request) -> web.Response:
        body = details.html_part(self._mail(request))
        return web.Response(text=body, content_type="text/html", headers={"Content-Security-Policy": _MAIL_POLICY})

    async def source(self, request: web.Request) -> web.Response:
        text = self._mail(request).content.decode("utf-8", "replace")
        return web.Response(text=text, content_type="text/plain", headers={"X-Content-Type-Options": "nosniff"})

    async def behaviour(self, request: web.Request) -> web.Response:
        return _page(behaviour.behaviour(self._script, self._log))

    def changing(self, change: Change) -> Callable[[web.Request], Awaitable[web.Response]]:
        """A form that was sent: changed, and back to the page."""

        async def changed(request: web.Request) -> web.Response:
            form = {name: value for name, value in (await request.post()).items() if isinstance(value, str)}
            try:
                change(self._script, form)
            except changes.NotTaken as error:
                return _page(behaviour.behaviour(self._script, self._log, str(error)), 422)
            return web.Response(status=303, headers={"Location": "/behaviour"})

        return changed

    async def asset(self, request: web.Request) -> web.FileResponse:
        path = rendering.FOLDER / request.match_info["name"]
        return web.FileResponse(path, headers={"Cache-Control": "no-cache"})

    def _mail(self, request: web.Request) -> Mail:
        mail = self._log.mail(int(request.match_info["n"]))
        if mail is None:
            raise web.HTTPNotFound
        return mail


def _page(text: str, status: int = 200) -> web.Response:
    headers = {"Content-Security-Policy": _PAGE_POLICY, "Cache-Control": "no-store"}
    return web.Response(text=text, status=status, content_type="text/html", headers=headers)
