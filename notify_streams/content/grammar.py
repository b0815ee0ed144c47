"""What may stand in a template; everything else is refused when it is compiled."""

import re
from collections.abc import Container

from jinja2 import TemplateSyntaxError, nodes

_PERMITTED = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const, nodes.List, nodes.Tuple, nodes.Dict),
    *(nodes.If, nodes.For, nodes.CondExpr, nodes.Filter, nodes.Test, nodes.Compare, nodes.Operand, nodes.Keyword),
    *(nodes.Not, nodes.And, nodes.Or, nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod),
    *(nodes.Neg, nodes.Pos, nodes.Concat, nodes.Getattr, nodes.Getitem, nodes.Slice, nodes.Assign, nodes.Pair),
    *(nodes.Extends, nodes.Block),
)
# An address in HTML has a fixed host, or is exactly one expression that ends in the filter `link`.
_ADDRESS = re.compile(
    r"""\b(href|src|action|formaction|background|poster)\s*=\s*("[^"]*"|'[^']*'|\S+)""", re.IGNORECASE
)
_SAFE = re.compile(r"""["'](https?://[\w.-]+(:\d+)?(/|["'])|mailto:|#|\{\{[^{}]*\|\s*link\s*\}\}["']$)""")


def permit(tree: nodes.Template, source: str, name: str | None, known: Container[str]) -> None:
    """Raises TemplateSyntaxError for calls, imports, macros, private names, filters and tests that are not `known`,
    and addresses that data could choose.
    """
    for node in tree.find_all(nodes.Node):
        complaint = _complaint(node, known)
        if complaint:
            raise TemplateSyntaxError(complaint, getattr(node, "lineno", None) or 1, name)
    if name is not None and name.endswith(".html"):
        _permit_addresses(source, name)


def _complaint(node: nodes.Node, known: Container[str]) -> str:
    match node:
        case nodes.Name() | nodes.Filter() if node.name.startswith("_"):
            return f"{node.name}: no name may start with an underscore"
        case nodes.Filter() | nodes.Test() if node.name not in known:
            return f"there is no {type(node).__name__.lower()} {node.name}"
        case nodes.Extends(template=parent) if not isinstance(parent, nodes.Const):
            return "extends takes the name of a template"
        case _ if not isinstance(node, _PERMITTED):
            return f"{type(node).__name__.lower()} is not allowed in a template"
    return ""


def _permit_addresses(source: str, name: str) -> None:
    for found in _ADDRESS.finditer(source):
        if "{" in found[2] and not _SAFE.match(found[2]):
            lineno = source.count("\n", 0, found.start()) + 1
            raise TemplateSyntaxError(
                f'{found[1]}: write "{{{{ variable|link }}}}", or "https://host/..."', lineno, name
            )
