"""The console's HTML: templates, what is allowed on a page, and the files that go with it."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import jinja2
from aiohttp import web

from notify_streams.gateway.console.words import FILTERS
from notify_streams.gateway.problems import not_found

PLACES = (
    ("Now", "/console"),
    ("Find", "/console/find"),
    ("Failures", "/console/failures"),
    ("Providers", "/console/providers"),
    ("Dead letters", "/console/dead-letters"),
    ("Timers", "/console/timers"),
    ("Settings", "/console/settings"),
)
FRAGMENT = "X-Fragment"  # the header with which a page asks for its own inside anew
_HERE = Path(__file__).parent
_TYPES = {".css": "text/css", ".js": "text/javascript"}
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "same-origin",
    "X-Robots-Tag": "noindex",
}
_ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(_HERE / "views"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters.update(FILTERS)
_FRAGMENT = _ENVIRONMENT.from_string("{% block fragment %}{% endblock %}")


def page(request: web.Request, name: str, given: Mapping[str, Any], *, status: int = 200) -> web.Response:
    """The page as it goes out; its inside alone where the page itself asks for it."""
    layout = _FRAGMENT if FRAGMENT in request.headers else _ENVIRONMENT.get_template("base.html")
    words = {"layout": layout, "place": given["title"], "places": PLACES, "live": 0}
    return html(_ENVIRONMENT.get_template(f"{name}.html").render({**words, **given}), status)


def sign_in(said: str, then: str, status: int) -> web.Response:
    """The door."""
    return html(_ENVIRONMENT.get_template("sign_in.html").render(said=said, next=then), status)


def html(body: str, status: int = 200) -> web.Response:
    """With what a page may load: its own files, nothing from elsewhere, nothing inline."""
    return web.Response(text=body, status=status, content_type="text/html", charset="utf-8", headers=_HEADERS)


def asset(request: web.Request) -> web.Response:
    """The style sheet and the script."""
    path = _HERE / "assets" / request.match_info["name"]
    if path.suffix not in _TYPES or path.parent != _HERE / "assets" or not path.is_file():
        raise not_found()
    body = path.read_bytes()
    tag = f'"{sha256(body).hexdigest()[:16]}"'
    if request.headers.get("If-None-Match") == tag:
        return web.Response(status=304, headers={"ETag": tag})
    return web.Response(body=body, content_type=_TYPES[path.suffix], charset="utf-8", headers={"ETag": tag})
