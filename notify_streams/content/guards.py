"""What is checked while a template renders: turns of loops, lengths, and that what is written out is text."""

from collections.abc import Iterable, Iterator
from typing import Any, cast

from jinja2 import Undefined, nodes, pass_context
from jinja2.exceptions import SecurityError, UndefinedError
from jinja2.runtime import Context
from jinja2.visitor import NodeTransformer

from notify_streams.content.locales import Reader

READER = "_reader"
MAX_OUTPUT = 256 * 1024


class Guards(NodeTransformer):
    """Puts the checks of this module into a parsed template, with the variable's name where one is to be named."""

    def visit_For(self, node: nodes.For) -> nodes.For:  # noqa: D102
        self.generic_visit(node)
        node.iter = _filtered(node.iter, "_counted")
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Expr:  # noqa: D102
        self.generic_visit(node)
        return _filtered(node, "_bounded")

    def visit_Output(self, node: nodes.Output) -> nodes.Output:  # noqa: D102
        self.generic_visit(node)
        node.nodes = [n if isinstance(n, nodes.TemplateData) else _filtered(n, "_text", spelt(n)) for n in node.nodes]
        return node


def spelt(node: nodes.Node) -> str:
    """How the template spells the variable inside an expression; empty where it has none."""
    match node:
        case nodes.Name():
            return node.name
        case nodes.Getattr():
            return f"{spelt(node.node)}.{node.attr}"
        case nodes.Getitem():
            return spelt(node.node)
        case _:
            return next((s for s in map(spelt, node.iter_child_nodes()) if s), "")


def text(value: Any, spelling: str = "") -> str:
    """What is written out: text or a number. Null, lists, objects and booleans have no form in any language."""
    if isinstance(value, str):
        return value
    if isinstance(value, Undefined):
        raise UndefinedError(f"{spelling or 'a variable'} is missing")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UndefinedError(f"{spelling or 'a value'} is no text and no number")
    return str(value)


def bounded(value: str) -> str:
    """Texts that a template joins, before they are joined again."""
    if len(value) > MAX_OUTPUT:
        raise SecurityError(f"a text is longer than {MAX_OUTPUT} characters")
    return value


@pass_context
def counted(context: Context, values: Iterable[Any]) -> Iterator[Any]:
    """What a loop runs over, against the reader's budget of turns."""
    reader = cast(Reader, context.resolve(READER))
    for value in values:
        reader.turns -= 1
        if reader.turns < 0:
            raise SecurityError("the loops take too many turns")
        yield value


def joined(values: Iterable[Any], separator: str = "") -> str:
    """A list as one text."""
    parts: list[str] = []
    size = 0
    for value in values:
        parts.append(text(value))
        size += len(parts[-1]) + len(separator)
        if size > MAX_OUTPUT:
            raise SecurityError(f"a text is longer than {MAX_OUTPUT} characters")
    return separator.join(parts)


def _filtered(node: nodes.Node, filter: str, *args: str) -> nodes.Filter:
    return nodes.Filter(
        cast(nodes.Expr, node), filter, [nodes.Const(a) for a in args], [], None, None, lineno=node.lineno
    )
