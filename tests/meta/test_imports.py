"""Imports between files: no files of the package import each other in a circle, no test module imports
another.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from itertools import accumulate

from tests.meta.tree import PACKAGE, Source, assert_none, sources, walk


def module_name(source: Source) -> str:
    """``whimbrel.http`` for src/whimbrel/http/__init__.py."""
    parts = source.path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def type_checking(tree: ast.AST) -> set[int]:
    """Return the identities of all nodes that only a type checker reads."""
    blocks = (n for n in walk(tree) if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.unparse(n.test))
    return {id(inner) for block in blocks for statement in block.body for inner in ast.walk(statement)}


def runtime_imports(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the import statements that are executed, those of functions included."""
    skipped = type_checking(tree)
    for node in walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) and id(node) not in skipped:
            yield node


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the imports of a file at run time: ``a.b`` and ``a.b.c`` for ``from a.b import c``."""
    for node in runtime_imports(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def files_executed(tree: ast.AST, own: str, names: set[str]) -> set[str]:
    """Return the files of the package that the imports of the file *own* execute, at its start or in a
    function.

    An import executes the packages above the imported module.  Those above *own* run already: they count
    where the file reads a name of their own.
    """
    found = set()
    for node in runtime_imports(tree):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        else:
            modules = [f"{node.module}.{alias.name}" for alias in node.names]
            targets = [module if module in names else str(node.module) for module in modules]
        for target in targets:
            above = accumulate(target.split(".")[:-1], lambda package, name: f"{package}.{name}")
            found |= {target, *(package for package in above if not own.startswith(f"{package}."))}
    return (found & names) - {own}


def first_circle(imports: dict[str, set[str]]) -> list[str]:
    """Return files of which each executes the next and the last is the first; none without a circle."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as problem:
        return list(problem.args[1])
    return []


def test_no_files_import_each_other_in_a_circle() -> None:
    names = {module_name(source) for source in sources("src")}
    imports = {
        name: files_executed(source.tree, name, names)
        for source in sources("src")
        for name in [module_name(source)]
    }
    assert_none(first_circle(imports))


def test_no_test_module_imports_another() -> None:
    found = {
        f"{source.name}: {name}"
        for source in sources("tests")
        for name in imported(source.tree)
        if name.startswith("tests.") and name.rpartition(".")[2].startswith("test_")
    }
    assert_none(sorted(found))


def test_imports_in_functions_are_found_and_those_for_types_are_not() -> None:
    tree = ast.parse(
        "if TYPE_CHECKING:\n    from a import b\nelse:\n    import c\ndef f():\n    from d import e\n"
    )
    assert set(imported(tree)) == {"c", "d", "d.e"}


def test_packages_above_an_imported_module_count_unless_they_run_already() -> None:
    names = {"p", "p.a", "p.a.one", "p.a.two", "p.b", "p.b.three"}
    tree = ast.parse("from p.a import two\nfrom p.b.three import value\n")
    assert files_executed(tree, "p.a.one", names) == {"p.a.two", "p.b", "p.b.three"}
    assert files_executed(ast.parse("from p.a import value"), "p.a.one", names) == {"p.a"}
    assert first_circle({"x": {"y"}, "y": {"z"}, "z": {"x"}}) and not first_circle({"x": {"y"}, "y": set()})
