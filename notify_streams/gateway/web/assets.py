"""The inbox component, the client under it, and a page that shows them: static files, made ready once.

The component is written as small modules and goes out as one: joined in order, without comments and indentation,
compressed once. Under `/assets/VERSION/` a file never changes and may be kept for ever; without a version it is asked
for again, which costs a 304.
"""

import gzip
import re
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from aiohttp import web

from notify_streams.gateway import problems
from notify_streams.gateway.routes import Route

_HERE = Path(__file__).parent
CLIENT = ("notify-tabs", "notify-stream", "notify-client")
COMPONENT = (
    *CLIENT,
    "notify-dom",
    "notify-words",
    "notify-row",
    "notify-list",
    "notify-undo",
    "notify-view",
    "notify-preferences",
)
_TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}
_ASK_AGAIN, _FOR_EVER = "no-cache", "public, max-age=31536000, immutable"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_PAGE_HEADERS = {"Content-Security-Policy": _POLICY, "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex"}
# A page of another origin may load the component; what it may read of the gateway is another matter.
_ASSET_HEADERS = {"Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin"}


@dataclass(frozen=True, slots=True)
class Asset:
    """One file as it goes out."""

    text: bytes
    compressed: bytes
    media_type: str
    tag: str


@dataclass(frozen=True, slots=True)
class Assets:
    """Nothing here needs a key: it is the same for everybody."""

    def routes(self) -> tuple[Route, ...]:
        """The files, with a version and without, and the page."""
        answers = {200: "a script or a style sheet", 304: "nothing has changed"}
        return (
            Route(
                method="GET",
                path="/assets/{name}",
                handler=self.get,
                summary="The inbox component: notify-inbox.js, notify-client.js",
                answers=answers,
                problems=(404,),
            ),
            Route(
                method="GET",
                path="/assets/{version}/{name}",
                handler=self.get_version,
                summary="The same, to be kept for ever",
                answers=answers,
                problems=(404,),
            ),
            Route(
                method="GET",
                path="/inbox",
                handler=self.page,
                summary="An inbox in a page of its own; the token is pasted, or in the fragment",
                answers={200: "HTML", 304: "nothing has changed"},
            ),
        )

    async def get(self, request: web.Request) -> web.Response:
        """The newest."""
        return _answer(request, request.match_info["name"], _ASK_AGAIN, _ASSET_HEADERS)

    async def get_version(self, request: web.Request) -> web.Response:
        """Only of the version that is here: anything else would be kept for ever under a wrong name."""
        if request.match_info["version"] != version():
            raise problems.not_found()
        return _answer(request, request.match_info["name"], _FOR_EVER, _ASSET_HEADERS)

    async def page(self, request: web.Request) -> web.Response:
        """It knows nobody: who has no token sees how to come by one."""
        return _answer(request, "inbox.html", _ASK_AGAIN, _PAGE_HEADERS)


@cache
def assets() -> dict[str, Asset]:
    """By name; the page by its own."""
    files = {"inbox.html": _read("page.html").replace("VERSION", version())}
    return {name: _asset(name, text) for name, text in (_texts() | files).items()}


@cache
def version() -> str:
    """Of all files together."""
    return sha256("\0".join(_texts().values()).encode()).hexdigest()[:12]


def joined(modules: tuple[str, ...]) -> str:
    """Modules as one: their names on the top level differ, so they need no imports of each other."""
    text = "".join(_read(f"inbox/{module}.js") for module in modules)
    return re.sub(r"^import [^;]*;\n", "", text, flags=re.MULTILINE)


def _texts() -> dict[str, str]:
    return {
        "notify-inbox.js": slim_script(joined((*COMPONENT, "notify-inbox"))),
        "notify-client.js": slim_script(joined(CLIENT)),
        "notify-inbox.css": slim_style(_read("inbox/notify-inbox.css")),
        "inbox-page.js": slim_script(_read("page.js")),
        "inbox-page.css": slim_style(_read("page.css")),
    }


def slim_script(text: str) -> str:
    """Without what only its reader needs: comments, on lines of their own or at the end of one, and indentation."""
    text = re.sub(r"^\s*/\*.*?\*/\s*$|^\s*//[^\n]*$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"[ ]+// [^\n\"'`]*$", "", text, flags=re.MULTILINE)
    return re.sub(r"^\s+", "", text, flags=re.MULTILINE)


def slim_style(text: str) -> str:
    """The same for a style sheet, where space beside punctuation means nothing but before a colon."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return re.sub(r"\s*([{};,])\s*", r"\1", text).replace(": ", ":").strip()


def _read(name: str) -> str:
    return (_HERE / name).read_text()


def _asset(name: str, text: str) -> Asset:
    content = text.encode()
    tag = f'"{sha256(content).hexdigest()[:16]}"'
    return Asset(content, gzip.compress(content, 9, mtime=0), _TYPES[Path(name).suffix], tag)


def _answer(request: web.Request, name: str, kept: str, more: dict[str, str]) -> web.Response:
    asset = assets().get(name)
    if asset is None or (name == "inbox.html") != ("Content-Security-Policy" in more):
        raise problems.not_found()
    headers = {"ETag": asset.tag, "Cache-Control": kept, "Vary": "Accept-Encoding", **more}
    if asset.tag in request.headers.get("If-None-Match", ""):
        return web.Response(status=304, headers=headers)
    body = asset.text
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        headers["Content-Encoding"], body = "gzip", asset.compressed
    return web.Response(body=body, headers=headers, content_type=asset.media_type, charset="utf-8")
