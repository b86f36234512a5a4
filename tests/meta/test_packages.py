"""Packages: `__init__` says the purpose, the public names, and what the package must not import."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.meta.tree import PACKAGE, Source, assert_none, sources

MOST_LINES = 7
LISTS = ("Public:", "Modules:", "Packages:")


def is_exempt(name: str) -> bool:
    """Return True for a package that is one module of httpd, or one area of upgrade rules."""
    return name.rpartition("/")[2].startswith("mod_") or name.startswith("upgrade/rules/")


def faults(docstring: str) -> Iterator[str]:
    """Yield what the docstring of a package lacks."""
    lines = docstring.rstrip().splitlines()
    if len(lines) < 4 or len(lines) > MOST_LINES or all(lines[1:3]):
        yield f"has {len(lines)} lines: purpose, blank line, public names, what it must not import"
    if not any(line.startswith(LISTS) for line in lines):
        yield "lists no public names"
    if not any(line.startswith("Must not") for line in lines):
        yield "does not say what it must not import"


def packages() -> Iterator[tuple[str, Source]]:
    """Yield every package below the top with its `__init__`."""
    for source in sources("src"):
        name = str(source.path.parent.relative_to(PACKAGE))
        if source.path.name == "__init__.py" and name != "." and not is_exempt(name):
            yield name, source


def test_every_package_says_what_it_is_for() -> None:
    found = [
        f"{name} {fault}"
        for name, source in packages()
        for fault in faults(ast.get_docstring(source.tree) or "")
    ]
    assert_none(found)


def test_faults_are_found() -> None:
    assert list(faults("Purpose.\n\nPublic: a.\nMore.\nMust not import: b.")) == []
    assert len(list(faults("Purpose."))) == 3
