"""Request bodies into types, or the problem that names the field."""

import difflib
import re
from collections.abc import Collection, Mapping
from typing import Any, TypeVar

import msgspec
from aiohttp import web

from notify_streams.domain.json_checks import BadJson, decoded, depth_of
from notify_streams.domain.patch import pointer
from notify_streams.gateway.envelopes import pointer_of
from notify_streams.gateway.problems import Problem, invalid
from schemas.commands import FieldError

T = TypeVar("T")
_MAX_DEPTH = 16
_AT = re.compile(r"^(?P<reason>.*) - at (?:`key` in )?`(?P<path>[^`]*)`$", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `([^`]+)`")


async def read(request: web.Request, type_: type[T], *, known: Collection[str] = ()) -> T:
    """The body as JSON of this type. Raises 400 for what is no JSON, 415, 422 for what is of another type.

    With `known` names any other field is a 422 too, where a misspelt one would look as if it had been taken.
    """
    content_type = request.headers.get("Content-Type", "application/json").partition(";")[0].strip().lower()
    if content_type not in ("application/json", "application/merge-patch+json"):
        raise Problem(415, "unsupported_media_type", "bodies are application/json")
    body = await request.read()
    if depth_of(body, _MAX_DEPTH) > _MAX_DEPTH:
        raise Problem(400, "too_deep", f"nested deeper than {_MAX_DEPTH} levels")
    try:
        plain = decoded(body)
        if known and isinstance(plain, dict):
            _check_names(plain, known)
        return msgspec.json.decode(body, type=type_)
    except BadJson as bad:
        pointer = pointer_of(bad.path, flat=False)
        raise Problem(400, "invalid_json", bad.reason, errors=(FieldError(pointer, bad.reason),)) from None
    except msgspec.ValidationError as error:
        raise _invalid(str(error)) from None


def _check_names(body: Mapping[str, Any], known: Collection[str]) -> None:
    for name in body:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1, 0.5)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise invalid("unknown_field", f"unknown field{hint}", pointer(name))


def _invalid(words: str) -> Problem:
    match = _AT.match(words)
    reason, path = (match["reason"], match["path"]) if match else (words, "$")
    missing = _MISSING.match(reason)
    if missing is not None:
        reason, path = "required", f"{path}.{missing[1]}"
    return invalid("invalid_body", reason[:1].lower() + reason[1:], pointer_of(path, flat=False))
