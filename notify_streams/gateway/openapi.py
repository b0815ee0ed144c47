"""OpenAPI 3.1 out of the routes and the types that serve them."""

import re
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import msgspec
from aiohttp import web

from notify_streams import __version__
from notify_streams.gateway import problems
from notify_streams.gateway.problems import ProblemBody
from notify_streams.gateway.routes import Route, json_response
from schemas.codec import encode

_REF = "#/components/schemas/{name}"
_PARAMETER = re.compile(r"\{(\w+)\}")


def described(routes: Iterable[Route]) -> Route:
    """The route that serves the description of these and of itself."""

    async def serve(_request: web.Request) -> web.Response:
        return json_response(text)

    own = Route(
        method="GET", path="/openapi.json", handler=serve, summary="This document", answers={200: "OpenAPI 3.1"}
    )
    text = encode(document((*routes, own)))
    return own


def document(routes: Iterable[Route]) -> dict[str, Any]:
    """The whole."""
    routes = tuple(routes)
    named = [t for r in routes for t in (r.body, *r.answers.values()) if t is not None and not isinstance(t, str)]
    types = [ProblemBody, *dict.fromkeys(named)]
    schemas, components = msgspec.json.schema_components(types, ref_template=_REF)
    by_type = dict(zip(types, schemas, strict=True))
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, by_type)
    return {
        "openapi": "3.1.0",
        "info": {"title": "notify-streams", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: Route, by_type: dict[Any, Any]) -> dict[str, Any]:
    in_path = [_parameter(name, "path", "", required=True) for name in _PARAMETER.findall(route.path)]
    in_query = [_parameter(n, "query", text, required=text == "required") for n, text in route.query.items()]
    in_headers = [_parameter(name, "header", text, required=False) for name, text in route.headers.items()]
    operation: dict[str, Any] = {
        "summary": route.summary,
        "description": f"For: {route.who}.",
        "parameters": in_path + in_query + in_headers,
        "responses": {str(s): _answer(s, a, by_type) for s, a in route.answers.items()}
        | {str(s): _problem(s, by_type) for s in sorted(route.problems)},
    }
    if route.who != "anyone":
        operation["security"] = [{"bearer": []}]
    if route.body is not None:
        content = {route.media_type: {"schema": by_type[route.body]}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _parameter(name: str, place: str, text: str, *, required: bool) -> dict[str, Any]:
    parameter = {"name": name, "in": place, "required": required, "schema": {"type": "string"}}
    return parameter | ({"description": text} if text else {})


def _answer(status: int, answer: Any, by_type: dict[Any, Any]) -> dict[str, Any]:
    if isinstance(answer, str):
        return {"description": answer}
    return {
        "description": HTTPStatus(status).phrase,
        "content": {"application/json": {"schema": by_type[answer]}},
    }


def _problem(status: int, by_type: dict[Any, Any]) -> dict[str, Any]:
    content = {problems.MEDIA_TYPE: {"schema": by_type[ProblemBody]}}
    return {"description": HTTPStatus(status).phrase, "content": content}
