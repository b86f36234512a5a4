"""Imports between files: no two files of the package import each other, no test module imports another."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.meta.tree import PACKAGE, Source, assert_none, sources


def module_name(source: Source) -> str:
    """``whimbrel.http`` for src/whimbrel/http/__init__.py."""
    parts = source.path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def type_checking(tree: ast.AST) -> set[int]:
    """Return the identities of all nodes that only a type checker reads."""
    blocks = (n for n in ast.walk(tree) if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.unparse(n.test))
    return {id(inner) for block in blocks for statement in block.body for inner in ast.walk(statement)}


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the imports of a file at run time: ``a.b`` and ``a.b.c`` for ``from a.b import c``."""
    skipped = type_checking(tree)
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def files_imported(tree: ast.AST, names: set[str]) -> set[str]:
    """Return the imported files of the package; of a package and its file only the file."""
    found = {name for name in imported(tree) if name in names}
    packages = {name.rpartition(".")[0] for name in found}
    return found - packages


def test_no_two_files_import_each_other() -> None:
    names = {module_name(source) for source in sources("src")}
    imports = {module_name(source): files_imported(source.tree, names) for source in sources("src")}
    pairs = {(a, b) for a in imports for b in imports[a] if a < b and a in imports[b]}
    assert_none(sorted(pairs))


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
