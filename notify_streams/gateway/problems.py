"""Errors as RFC 9457 problems, with a stable `code` and pointers; the one place where exceptions become answers."""

import logging
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from time import perf_counter
from uuid import uuid4

import msgspec
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Handler

from notify_streams.metrics import HTTP_SECONDS
from notify_streams.ports import Unavailable
from schemas.codec import encode
from schemas.commands import FieldError

log = logging.getLogger(__name__)
MEDIA_TYPE = "application/problem+json"
REQUEST_ID = web.RequestKey("request_id", str)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_RETRY_AFTER_S = "2"
_SLOW_S = 1.0
_CODES = {
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    417: "expectation_failed",
}


class ProblemBody(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """RFC 9457; `code` is stable, `errors[].pointer` a JSON pointer into the body."""

    status: int
    title: str
    code: str
    detail: str = ""
    errors: tuple[FieldError, ...] = ()


class Problem(Exception):
    """An answer that is no success. `detail` is for the caller's eyes and never repeats a body."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str = "",
        *,
        errors: Iterable[FieldError] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(code)
        self.body = ProblemBody(
            status=status, title=HTTPStatus(status).phrase, code=code, detail=detail, errors=tuple(errors)
        )
        self.headers = dict(headers or {})

    def response(self) -> web.Response:
        """As it goes out."""
        return web.Response(
            status=self.body.status, body=encode(self.body), content_type=MEDIA_TYPE, headers=self.headers
        )


def not_found() -> Problem:
    """The same for what does not exist and for what is somebody else's."""
    return Problem(404, "not_found", "there is nothing here that this caller may see")


def invalid(code: str, detail: str, pointer: str) -> Problem:
    """One field of the body that cannot be taken."""
    return Problem(422, code, detail, errors=(FieldError(pointer, detail),))


@web.middleware
async def problems(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn what a handler raises into a problem, name the request, and log what did not go well."""
    request_id = request[REQUEST_ID] = uuid4().hex[:16]
    started = perf_counter()
    try:
        response = await handler(request)
    except Exception as error:  # noqa: BLE001 (the outermost frame: a bug becomes a 500 and a logged traceback)
        response = _problem_for(error, request).response()
    response.headers["X-Request-ID"] = request_id
    response.headers.setdefault("Cache-Control", "no-store")
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Server"] = "notify"  # not which versions of what
    elapsed_s = perf_counter() - started if isinstance(response, web.Response) else 0.0  # streams are to last
    resource = request.match_info.route.resource
    route = resource.canonical if resource is not None else "-"
    if elapsed_s:
        method = request.method if request.method in _METHODS else "other"  # anybody may send any word
        HTTP_SECONDS.labels(route, method, f"{response.status // 100}xx").observe(elapsed_s)
    _log(request, route, response.status, elapsed_s)
    return response


def _log(request: web.Request, route: str, status: int, elapsed_s: float) -> None:
    """One line by route, never by path; what went well and soon is only counted: a line is a quarter of the cost."""
    level = logging.INFO if status >= 400 or elapsed_s > _SLOW_S else logging.DEBUG
    if log.isEnabledFor(level):
        line = "http.answered method=%s route=%s status=%d ms=%.1f request_id=%s"
        log.log(level, line, request.method, route, status, elapsed_s * 1000, request[REQUEST_ID])


def _problem_for(error: Exception, request: web.Request) -> Problem:
    match error:
        case Problem():
            return error
        case Unavailable():
            log.warning("http.unavailable request_id=%s reason=%s", request[REQUEST_ID], error)
            return unavailable()
        case web.HTTPException():
            code = _CODES.get(error.status, "http_error")
            allow = error.headers.get("Allow")
            headers = {"Allow": allow} if allow else {"Connection": "close"} if error.status == 413 else None
            detail = "the body is too large" if error.status == 413 else ""
            return Problem(error.status, code, detail, headers=headers)
        case web.RequestPayloadError() | HttpProcessingError():
            detail = "the body is not in the encoding that its headers name"
            return Problem(400, "unreadable_body", detail, headers={"Connection": "close"})
        case ConnectionResetError() if request.transport is None or request.transport.is_closing():
            return Problem(400, "unreadable_body", "the connection ended before the body did")
        case _:
            log.error("http.failed request_id=%s", request[REQUEST_ID], exc_info=error)
            return Problem(500, "internal_error", "a fault of ours; it is logged under the request id")


def unavailable() -> Problem:
    """An engine is away; the request can be repeated as it is."""
    detail = "not confirmed: something we depend on does not answer; repeat the request as it is"
    return Problem(503, "unavailable", detail, headers={"Retry-After": _RETRY_AFTER_S})
