"""A statement does one thing: no unrelated values in one assignment, no conditional expression in another."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.meta.tree import assert_none, sources, walk


def packed(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and kind of each statement that does several things.

    A swap, a rotation and a pair that runs on (``a, b = b, a + b``) use their targets, and are one thing.
    """
    for node in walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) > 1:
            yield node.lineno, "chained assignment"
        elif isinstance(node, ast.Assign) and _is_parallel(node.targets[0], node.value):
            yield node.lineno, "parallel assignment"
        elif isinstance(node, ast.IfExp):
            parts = (node.test, node.body, node.orelse)
            if any(isinstance(part, ast.IfExp) for part in parts):
                yield node.lineno, "nested conditional expression"


def _is_parallel(target: ast.expr, value: ast.expr) -> bool:
    if not (isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)):
        return False
    return len(target.elts) == len(value.elts) and not _names(target) & _names(value)


def _names(node: ast.expr) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def test_no_statement_is_packed() -> None:
    assert_none(f"{s.name}:{line}: {kind}" for s in sources("src") for line, kind in packed(s.tree))


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("a, b = c, d", ["parallel assignment"]),
        ("self.a, self.b = 1, f()", ["parallel assignment"]),
        ("a = b = 1", ["chained assignment"]),
        ("a = 1 if b else 2 if c else 3", ["nested conditional expression"]),
        ("a, b = b, a", []),
        ("a, b = b, a + b", []),
        ("a, b = f()", []),
        ("for a, b in c: a = 1 if b else 2", []),
    ],
)
def test_what_is_packed(text: str, kinds: list[str]) -> None:
    assert [kind for _line, kind in packed(ast.parse(text))] == kinds
