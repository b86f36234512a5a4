"""Every module and every public behaviour has a docstring."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.meta.tree import Function, Source, assert_none, sources

SHORT = 3


def body_lines(node: Function | ast.ClassDef) -> int:
    """Return the lines of the body only."""
    return (node.end_lineno or node.lineno) - node.body[0].lineno + 1


def public(nodes: list[ast.stmt]) -> Iterator[Function | ast.ClassDef]:
    """Yield the public functions and classes among statements of one level."""
    return (n for n in nodes if isinstance(n, Function | ast.ClassDef) and not n.name.startswith("_"))


def bare(node: Function | ast.ClassDef) -> bool:
    """Return True if *node* needs a docstring and has none."""
    return ast.get_docstring(node) is None and body_lines(node) > SHORT


def undocumented(source: Source) -> Iterator[str]:
    """Yield public functions, classes and methods without a docstring.

    The base class documents overridden methods.
    """
    for node in public(source.tree.body):
        if bare(node):
            yield f"{source.name}:{node.lineno} {node.name}"
        if isinstance(node, ast.ClassDef) and not node.bases:
            yield from (
                f"{source.name}:{m.lineno} {node.name}.{m.name}" for m in public(node.body) if bare(m)
            )


def test_every_module_has_a_docstring() -> None:
    assert_none([s.name for s in sources("src") if ast.get_docstring(s.tree) is None])


def test_every_test_module_has_a_docstring() -> None:
    assert_none(
        [
            s.name
            for folder in ("tests", "bench")
            for s in sources(folder)
            if s.text.strip() and ast.get_docstring(s.tree) is None
        ]
    )


def test_public_behaviour_has_a_docstring() -> None:
    assert_none([line for s in sources("src") for line in undocumented(s)])
