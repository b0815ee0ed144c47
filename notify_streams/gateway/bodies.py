"""Request bodies into types, or the problem that names the field."""

import difflib
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec
from aiohttp import web

from notify_streams.domain.checks import pointer
from notify_streams.domain.json_checks import BadJson, decoded, depth_of
from notify_streams.gateway.envelopes import pointer_of
from notify_streams.gateway.pointing import why_not
from notify_streams.gateway.problems import Problem, invalid
from schemas.commands import FieldError

T = TypeVar("T")
Entries = Mapping[str, Collection[str]]
_MAX_DEPTH = 16


async def read(
    request: web.Request, type_: type[T], *, known: Collection[str] = (), entries: Entries = MappingProxyType({})
) -> T:
    """The body as JSON of this type. Raises 415, and what `typed` raises."""
    content_type = request.headers.get("Content-Type", "application/json").partition(";")[0].strip().lower()
    if content_type not in ("application/json", "application/merge-patch+json"):
        raise Problem(415, "unsupported_media_type", "bodies are application/json")
    return typed(await request.read(), type_, known=known, entries=entries)


def typed(body: bytes, type_: type[T], *, known: Collection[str] = (), entries: Entries = MappingProxyType({})) -> T:
    """JSON of this type. Raises 400 for what is no JSON, 422 for what is of another type.

    With `known` names any other field is a 422 too, where a misspelt one would look as if it had been taken;
    `entries` are those of the objects in a list, by the list's name.
    """
    if depth_of(body, _MAX_DEPTH) > _MAX_DEPTH:
        raise Problem(400, "too_deep", f"nested deeper than {_MAX_DEPTH} levels")
    try:
        plain = decoded(body)
    except BadJson as bad:
        at = pointer_of(bad.path, flat=False)
        raise Problem(400, "invalid_json", bad.reason, errors=(FieldError(at, bad.reason),)) from None
    if known and isinstance(plain, dict):
        check_names(plain, known)
        for name, names in entries.items():
            _check_entries(plain.get(name), names, name)
    try:
        return msgspec.json.decode(body, type=type_)
    except msgspec.ValidationError as error:
        at, reason = why_not(plain, type_, str(error))
        raise invalid("invalid_body", reason, at) from None


def check_names(body: Mapping[str, Any], known: Collection[str], *above: str) -> None:
    """Raises a 422 for a field of another name; `above` are the steps down to this object."""
    for name in body:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1, 0.5)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise invalid("unknown_field", f"unknown field{hint}", pointer(*above, name))


def _check_entries(entries: Any, known: Collection[str], name: str) -> None:
    for at, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict):
            check_names(entry, known, name, str(at))
