"""Every test can fail, and every skip has a reason."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.meta.tree import Function, assert_none, dotted, functions, sources, walk

CHECKER = re.compile(r"(?:\w+\.)*(?:_?check_\w+|_?assert_\w+|check|raises|warns|fail)")
SKIPS = {"pytest.skip", "pytest.mark.skip", "pytest.mark.skipif", "pytest.importorskip"}


def asserts(node: Function) -> bool:
    """Return True if *node* asserts: itself, by pytest.raises, or through a helper named accordingly."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Assert) or (
            isinstance(inner, ast.Call) and CHECKER.fullmatch(dotted(inner.func))
        ):
            return True
    return False


def skip_without_reason(tree: ast.AST) -> Iterator[int]:
    """Yield the lines of skips without a reason (the reason of pytest.skip may be its first argument)."""
    called = {id(n.func): n for n in walk(tree) if isinstance(n, ast.Call)}
    for node in walk(tree):
        if isinstance(node, ast.Attribute) and dotted(node) in SKIPS:
            call = called.get(id(node))
            given = call is not None and (
                any(k.arg in ("reason", "msg") for k in call.keywords)
                or (dotted(node) == "pytest.skip" and call.args)
            )
            if not given:
                yield node.lineno


def test_every_test_asserts() -> None:
    empty = [
        f"{s.name}:{f.lineno} {f.name}"
        for s in sources("tests")
        for f in functions(s.tree)
        if f.name.startswith("test_") and not asserts(f)
    ]
    assert_none(empty)


def test_every_skip_has_a_reason() -> None:
    assert_none([f"{s.name}:{line}" for s in sources("tests") for line in skip_without_reason(s.tree)])


def test_nothing_is_expected_to_fail() -> None:
    word = "x" + "fail"
    assert_none([s.name for s in sources("tests") if re.search(rf"\b{word}\b", s.text)])


def test_no_test_opens_what_other_runs_close() -> None:
    """The directory above those of all runs is closed by each pytest that starts (`open_path` is not)."""
    above = re.compile(r"\btmp_path\.parent(s|\.parent)\b")
    assert_none([s.name for s in sources("tests") if above.search(s.text)])


def test_an_empty_test_is_found() -> None:
    tree = ast.parse(
        "def test_a():\n    run()\ndef test_b():\n    check_it()\n"
        "@pytest.mark.skip\ndef test_c():\n    assert x\n"
    )
    assert [f.name for f in functions(tree) if not asserts(f)] == ["test_a"]
    assert list(skip_without_reason(tree)) == [5]
