"""Which variables of the payload a template cannot do without."""

from collections.abc import Callable, Iterable, Iterator

from jinja2 import nodes

# What every rendering has beside the payload's own members; a payload cannot replace them.
GIVEN = frozenset({"actor", "object", "user", "notification", "locale", "loop", "count", "actors", "others"}) | {
    "direction",
    "unsubscribe",
}
# What the templates of digests have besides; in those of a type such a name is the payload's.
OF_DIGESTS = frozenset({"lines", "more", "category"})
_DEFAULTS = frozenset({"default", "d"})


def required(
    tree: nodes.Template,
    parent: Callable[[str], nodes.Template],
    overridden: frozenset[str] = frozenset(),
    bound: frozenset[str] = GIVEN,
) -> set[str]:
    """Variables used outside any condition and without a default, in the template and in what it extends.

    `overridden` names the blocks that a template further down writes anew, `bound` what it sets.
    """
    body = [n for n in tree.body if not (isinstance(n, nodes.Block) and n.name in overridden)]
    found = set(_needed(body, {*bound}))
    blocks = overridden | {block.name for block in tree.find_all(nodes.Block)}
    known = bound.union(*(_targets(node.target) for node in tree.body if isinstance(node, nodes.Assign)))
    for extends in tree.find_all(nodes.Extends):
        assert isinstance(extends.template, nodes.Const)
        found |= required(parent(extends.template.value), parent, blocks, known)
    return found


def _needed(body: Iterable[nodes.Node], bound: set[str]) -> Iterator[str]:
    """Free names, in order of use; an assignment binds its name for what follows."""
    for node in body:
        match node:
            case nodes.Assign():
                yield from _needed([node.node], bound)
                bound |= _targets(node.target)
            case nodes.For():
                yield from _needed([node.iter], bound)
                yield from _needed(node.body, bound | _targets(node.target))
            case nodes.Block():
                yield from _needed(node.body, {*bound})
            case nodes.Name():
                if node.name not in bound:
                    yield node.name
            case nodes.And():
                yield from _needed([node.left], bound)
            case nodes.Filter() if node.name in _DEFAULTS and _is_lookup(node.node):
                continue
            case nodes.If() | nodes.CondExpr() | nodes.Or():
                continue
            case nodes.Test() if node.name in ("defined", "undefined"):
                continue
            case _:
                yield from _needed(node.iter_child_nodes(), bound)


def _is_lookup(node: nodes.Node | None) -> bool:
    while isinstance(node, nodes.Getattr | nodes.Getitem):
        node = node.node
    return isinstance(node, nodes.Name)


def _targets(target: nodes.Node) -> set[str]:
    return {target.name} if isinstance(target, nodes.Name) else {n.name for n in target.find_all(nodes.Name)}
