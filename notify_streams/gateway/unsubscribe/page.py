"""One small page without scripts, images or anything from elsewhere."""

import base64
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import jinja2
import msgspec
from aiohttp import web
from markupsafe import Markup

from notify_streams.gateway.unsubscribe.words import Language

_HERE = Path(__file__).parent
_STYLE = (_HERE / "page.css").read_text()
_PAGE = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(
    (_HERE / "page.html").read_text()
)
_STYLE_HASH = base64.b64encode(sha256(_STYLE.encode()).digest()).decode()
_HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",  # the link is a credential
    "X-Robots-Tag": "noindex",
    "Vary": "Accept-Language",
}


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A button; `why` is said above it, `other` makes it the less likely one."""

    scope: str
    label: str
    why: str = ""
    other: bool = False


def page(
    language: Language,
    headline: str,
    sentences: Sequence[str],
    *,
    choices: Sequence[Choice] = (),
    note: str = "",
    status: int = 200,
) -> web.Response:
    """The page as it goes out."""
    text = _PAGE.render(
        language=language,
        headline=headline,
        sentences=sentences,
        choices=choices,
        note=note,
        style=Markup(_STYLE),
    )
    return web.Response(text=text, status=status, content_type="text/html", charset="utf-8", headers=_HEADERS)
