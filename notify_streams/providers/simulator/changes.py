"""Changes of weather and rules that come from a browser: forms, and only from our own pages."""

from collections.abc import Mapping
from ipaddress import ip_address
from typing import TypeVar

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler
from yarl import URL

from notify_streams.providers.simulator.script import Rule, Script, Weather

T = TypeVar("T")
_CHANGING = frozenset({"POST", "PUT", "DELETE", "PATCH"})
_CONTROLS = ("/behaviour", "/script", "/weather", "/log")


class NotTaken(ValueError):
    """The form makes no sense; the message says why."""


@web.middleware
async def own_pages_only(request: web.Request, handler: Handler) -> web.StreamResponse:
    """A page of another origin changes nothing here, nor does a name that was made to lead to this machine.

    Programs send neither Origin nor Sec-Fetch-Site and may use the JSON routes; the forms need a browser's word.
    """
    if request.method in _CHANGING and request.path.startswith(_CONTROLS) and not _ours(request):
        raise web.HTTPForbidden(text="Changes are made from the simulator's own pages, or by PUT with JSON.")
    return await handler(request)


def _ours(request: web.Request) -> bool:
    origin, site = request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site")
    if origin is None and site is None:
        return not request.path.startswith("/behaviour")
    if site not in (None, "same-origin", "none"):
        return False
    return _is_here(request.host) and (origin is None or origin == f"http://{request.host}")


def _is_here(host: str) -> bool:
    name = URL(f"http://{host}").host or ""
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def weather(script: Script, form: Mapping[str, str]) -> None:
    """Shares are percents. Raises NotTaken."""
    shares = {name: _number(form, name) / 100 for name in ("refused", "dropped", "reset", "hung")}
    rest = {"provider": form.get("provider", ""), "code": int(_number(form, "code", 503))}
    script.forecast(_converted({**rest, **shares, "latency_s": _number(form, "latency_s")}, Weather))


def rule(script: Script, form: Mapping[str, str]) -> None:
    """Without a stage the rule of this recipient is taken away. Raises NotTaken."""
    named = {"recipient": form.get("recipient", "").strip(), "provider": form.get("provider", "*")}
    if "stage" not in form:
        script.put(_converted({**named, "answers": []}, Rule))
        return
    code, seconds = int(_number(form, "code", 250)), _number(form, "seconds")
    reply = {"stage": form["stage"], "code": code, "seconds": seconds, "text": "As told by a rule"}
    times, then = int(_number(form, "times", 1)), form.get("then", "").replace(",", " ").split()
    answers = [reply] * max(0, min(times, 1000))
    script.put(_converted({**named, "answers": answers, "then": then or None}, Rule))


def _converted(value: dict[str, object], type_: type[T]) -> T:
    try:
        return msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        raise NotTaken(str(error)) from error


def _number(form: Mapping[str, str], name: str, default: float = 0.0) -> float:
    given = form.get(name, "").strip()
    try:
        return float(given) if given else default
    except ValueError as error:
        raise NotTaken(f"{name}: {given!r} is no number") from error
