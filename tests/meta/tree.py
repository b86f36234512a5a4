"""Subjects of the meta tests: source files, functions, tracked files."""

from __future__ import annotations

import ast
import gc
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "whimbrel"
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """Python file, parsed."""

    path: Path
    text: str
    tree: ast.Module

    @property
    def name(self) -> str:
        return str(self.path.relative_to(ROOT))

    @property
    def lines(self) -> int:
        return len(self.text.splitlines())


@cache
def sources(directory: str) -> tuple[Source, ...]:
    """Return every Python file below *directory*: "src", "tests", or a part of the first."""
    if directory.startswith("src/"):
        return tuple(s for s in sources("src") if s.path.is_relative_to(ROOT / directory))
    found = []
    gc.disable()  # it would visit millions of nodes, of which none is garbage
    try:
        for path in sorted((ROOT / directory).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            found.append(Source(path, text, ast.parse(text, str(path))))
    finally:
        gc.enable()
    return tuple(found)


@cache
def _nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree))


def walk(tree: ast.AST) -> Iterable[ast.AST]:
    """Yield *tree* and what is below it, as `ast.walk` does; a file is walked once for all tests."""
    return _nodes(tree) if isinstance(tree, ast.Module) else ast.walk(tree)


@cache
def tracked() -> tuple[Path, ...]:
    """Return the files under version control; none in an unpacked archive without git."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    names = [name for name in done.stdout.decode().split("\0") if name]
    return tuple(path for path in (ROOT / name for name in names) if path.is_file())


def functions(tree: ast.AST) -> Iterator[Function]:
    """Yield every function of a file, methods and inner functions included."""
    return (node for node in walk(tree) if isinstance(node, Function))


def docstring_lines(node: Function) -> int:
    """Return the number of lines of the docstring."""
    if ast.get_docstring(node) is None:
        return 0
    first = node.body[0]
    return (first.end_lineno or first.lineno) - first.lineno + 1


def length(node: Function) -> int:
    """Return the lines from `def` to the end, without decorators and docstring."""
    return (node.end_lineno or node.lineno) - node.lineno + 1 - docstring_lines(node)


def statements(node: Function) -> int:
    """Return the number of statements, without docstring, and without the fields that a constructor sets."""
    return sum(
        isinstance(part, ast.stmt) and not (node.name == "__init__" and _is_field(part))
        for part in ast.walk(node)
    ) - (2 if docstring_lines(node) else 1)


def _is_field(node: ast.stmt) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return all(
        isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"
        for target in targets
    )


def assert_none(found: Iterable[object]) -> None:
    """Fail with a list of everything that was found."""
    lines = [str(one) for one in found]
    assert not lines, "\n".join(("", *lines))


def dotted(node: ast.AST) -> str:
    """Return ``pytest.mark.skip`` for the expression of that name; "" for any other expression."""
    if isinstance(node, ast.Attribute):
        head = dotted(node.value)
        return f"{head}.{node.attr}" if head else node.attr
    return node.id if isinstance(node, ast.Name) else ""
