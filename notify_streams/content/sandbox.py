"""The environment that templates run in: they look up data, branch, loop within bounds, and call a few filters."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from jinja2 import Undefined, nodes, pass_context
from jinja2.exceptions import SecurityError
from jinja2.filters import FILTERS
from jinja2.loaders import BaseLoader
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.tests import TESTS

from notify_streams.content.grammar import permit
from notify_streams.content.guards import READER, Guards, bounded, counted, joined, text

_FILTERS = (
    *("default", "d", "upper", "lower", "title", "capitalize", "trim", "truncate", "length", "count", "first", "last"),
    *("escape", "e", "urlencode", "round", "int", "float", "abs", "items"),
)
_BY_READER = ("date", "datetime", "time", "number", "percent", "currency", "plural")
_TESTS = (
    *("defined", "undefined", "none", "in", "eq", "==", "ne", "!=", "lt", "<", "le", "<=", "gt", ">", "ge", ">="),
    *("odd", "even", "string", "number", "sequence", "mapping", "true", "false", "boolean"),
)
_LOOP = frozenset({"index", "index0", "revindex", "revindex0", "first", "last", "length", "previtem", "nextitem"})
_LINK = re.compile(r"https?://[^\s\x00-\x1f\x7f\"'<>\\`]+", re.IGNORECASE)
_LARGEST = 1e15


class Missing(Undefined):
    """A variable that the data does not have, or has as null: false in a condition, an error as text or in a loop."""

    __slots__ = ()

    def __str__(self) -> str:
        return self._fail_with_undefined_error()

    def __iter__(self) -> Iterator[Any]:
        return self._fail_with_undefined_error()

    def __len__(self) -> int:
        return self._fail_with_undefined_error()

    def member(self, attribute: str) -> str:
        """How a template spells a member of it."""
        return f"{self._undefined_name}.{attribute}"


class Sandbox(ImmutableSandboxedEnvironment):
    """Compiles templates that only read data; TemplateSyntaxError for all others."""

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})

    def __init__(self, loader: BaseLoader) -> None:
        super().__init__(
            loader=loader,
            autoescape=lambda name: name is not None and name.endswith(".html"),
            undefined=Missing,
            auto_reload=False,
            cache_size=-1,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.globals.clear()
        self.filters = {name: FILTERS[name] for name in _FILTERS} | {name: _of_reader(name) for name in _BY_READER}
        self.filters |= {
            "link": link,
            "isolate": isolate,
            "join": joined,
            "_text": text,
            "_counted": counted,
            "_bounded": bounded,
        }
        self.tests = {name: TESTS[name] for name in _TESTS}

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        permit(tree, source, name, {*self.filters, *self.tests})
        guarded: nodes.Template = Guards().visit(tree)
        guarded.set_environment(self)
        return guarded

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Members of JSON objects, nothing of Python's."""
        value = None
        if isinstance(obj, dict):
            value = obj.get(attribute)
        elif isinstance(obj, LoopContext) and attribute in _LOOP:
            value = getattr(obj, attribute)
        if value is not None:
            return value
        path = obj.member(attribute) if isinstance(obj, Missing) else attribute
        return self.undefined(hint=f"{path} is missing", name=path)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Members of JSON objects and arrays, and parts of texts."""
        if isinstance(argument, int | slice) and isinstance(obj, list | str):
            try:
                return obj[argument]
            except (IndexError, TypeError):
                return self.undefined(hint=f"[{argument}] is missing", name=f"[{argument}]")
        return self.getattr(obj, str(argument))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Arithmetic is for numbers of ordinary size: text times a number and powers are how memory is filled."""
        if operator == "**" or not all(type(v) in (int, float) and abs(v) < _LARGEST for v in (left, right)):
            raise SecurityError(f"{operator} is for numbers")
        return self.binop_table[operator](left, right)


def link(value: Any) -> Any:
    """The address if it is http(s), else an empty text."""
    if isinstance(value, Undefined):
        return value
    return value if isinstance(value, str) and _LINK.fullmatch(value) else ""


def isolate(value: Any) -> Any:
    """For names, numbers and titles inside a text that is written the other way (UAX #9: first strong isolate)."""
    return value if isinstance(value, Undefined) else f"\u2068{value}\u2069"


def _of_reader(name: str) -> Callable[..., Any]:
    """A filter that the reader of this rendering answers: never a locale of the process."""

    @pass_context
    def filter(context: Context, value: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(value, Undefined):
            return value
        return getattr(context.resolve(READER), name)(value, *args, **kwargs)

    return filter
