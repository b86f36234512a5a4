"""Names in strings: a module of the package that is imported by its name is Any to mypy, so nothing checks
what is read of it. Only tables import so, and each name that one of them reads exists.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from inspect import signature

import pytest

from tests.meta.tree import PACKAGE, assert_none, dotted, sources, walk
from whimbrel.cli.utility_table import UTILITIES

# file of a table -> what it reads of the modules
TABLES = {
    "catalogue/checks/__init__.py": "MODULE, of each file of checks",
    "cli/check.py": "render, of each format",
    "cli/fleet.py": "render, of each format",
    "cli/main.py": "app, of each command",
    "cli/utility_table.py": "run, of each utility",
    "cli/verify.py": "render, of each format",
    "modules/__init__.py": "the Module, whose type is stated",
    "modules/support/dbm/open.py": "a module of the standard library",
    "registry/module.py": "the maker, whose type is stated; names of _imported",
    "server/master/preload.py": "nothing",
    "upgrade/rules/__init__.py": "RULE, whose type is stated",
}
IMPORTERS = ("import_module", "importlib.import_module", "__import__")


def imports_by_name() -> Iterator[tuple[str, int, ast.Call]]:
    """Yield file, line and call of each import by name."""
    for source in sources("src/whimbrel"):
        for node in walk(source.tree):
            if isinstance(node, ast.Call) and dotted(node.func) in IMPORTERS:
                yield str(source.path.relative_to(PACKAGE)), node.lineno, node


def test_only_tables_import_by_name() -> None:
    found = [(file, line) for file, line, _ in imports_by_name() if file not in TABLES]
    assert_none(f"{file}:{line}: use an import statement in the function" for file, line in found)


def test_no_table_imports_one_module() -> None:
    """A constant name is an import statement that mypy cannot see."""
    found = [(file, line) for file, line, call in imports_by_name() if isinstance(call.args[0], ast.Constant)]
    assert_none(f"{file}:{line}" for file, line in found)


def test_every_table_is_used() -> None:
    assert_none(sorted(TABLES.keys() - {file for file, _, _ in imports_by_name()}))


def test_imported_names_exist() -> None:
    missing = []
    for source in sources("src/whimbrel/modules"):
        package = ".".join(source.path.parent.relative_to(PACKAGE.parent).parts)
        for node in walk(source.tree):
            if isinstance(node, ast.Call) and dotted(node.func) == "_imported":
                values = [word.value for word in node.args if isinstance(word, ast.Constant)]
                if len(values) == 2 and not hasattr(import_module(f"{package}.{values[0]}"), str(values[1])):
                    missing.append(f"{source.name}:{node.lineno}: {values}")
    assert_none(missing)


@pytest.mark.parametrize(
    ("package", "names"),
    [
        ("whimbrel.report.formats", ("github", "html", "json", "junit", "sarif", "text")),
        ("whimbrel.fleet.formats", ("html", "json", "text")),
        ("whimbrel.report.verification", ("html", "json", "sarif", "text")),
    ],
)
def test_formats_render_one_report(package: str, names: tuple[str, ...]) -> None:
    for name in names:
        render = signature(import_module(f"{package}.{name}").render)
        options = {"colored": True} if package.endswith("verification") else {"style": object()}
        bound = render.bind(object(), **(options if name == "text" else {}))
        assert bound.args, name


def test_utilities_run_one_program() -> None:
    for name in UTILITIES:
        run = import_module(f"whimbrel.cli.{'apachectl' if name == 'ctl' else name}").run
        assert [*signature(run).parameters] == ["program"], name
