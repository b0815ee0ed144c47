"""The largest modules and functions; fails over 400 lines a module and 40 a function, docstrings not counted."""

import ast
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("notify_streams", "agents", "tables", "schemas", "tests", "scripts")
MODULE_LINES = 400
FUNCTION_LINES = 40
SHOWN = 10

Sized = tuple[int, str]


def main() -> int:
    """Print both reports; 1 if anything is too long."""
    modules: list[Sized] = []
    functions: list[Sized] = []
    for path in sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
        text = path.read_text()
        modules.append((len(text.splitlines()), str(path.relative_to(ROOT))))
        functions += _functions(ast.parse(text), str(path.relative_to(ROOT)))
    fits = _report("modules", modules, MODULE_LINES)
    return 0 if _report("functions", functions, FUNCTION_LINES) and fits else 1


def _functions(tree: ast.Module, path: str) -> Iterator[Sized]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield _body_lines(node), f"{path}:{node.lineno} {node.name}"


def _body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first, *rest = node.body
    if ast.get_docstring(node) is not None:
        if not rest:
            return 0
        first = rest[0]
    return (node.end_lineno or 0) - first.lineno + 1


def _report(what: str, sized: list[Sized], limit: int) -> bool:
    median = statistics.median(lines for lines, _ in sized)
    sys.stdout.write(f"{len(sized)} {what}, median {median:.0f} lines, limit {limit}; the largest:\n")
    for lines, name in sorted(sized, reverse=True)[:SHOWN]:
        sys.stdout.write(f"  {lines:4} {name}{'   TOO LONG' if lines > limit else ''}\n")
    return max(sized)[0] <= limit


if __name__ == "__main__":
    sys.exit(main())
