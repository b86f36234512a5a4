"""Switches of the dialects: each names its row of the table of changes, makes a difference, and is read."""

from __future__ import annotations

import ast
import dataclasses
import re
from functools import cache

import pytest

from tests.meta.tree import PACKAGE, assert_none, sources, walk
from whimbrel.base.dialect import DIALECTS, GUIDE, V22, V24, Dialect

ROW = re.compile(r"C(?:0[1-9]|[1-4]\d|5[0-4])|X(?:0[1-9]|1\d|2[0-4])|wire|added|unlisted")
SWITCHES = [f for f in dataclasses.fields(Dialect) if f.name != "name"]

# Readers of the version itself: they compare it, print it, or choose a catalogue or rows of modules by it.
VERSION_READERS = {
    "modules/metadata/mod_version.py": "IfVersion",
    "cli/serve_banner.py": "shows it",
    "config/configuration.py": "the rows of modules",
    "config/detected_build.py": "the builds of a version",
    "config/load.py": "the catalogue",
    "config/handlers.py": "the table of handlers",
    "config/windows.py": "the builds of a version",
    "upgrade/source/binary.py": "modules in a 2.2 binary",
}


def uses(tree: ast.AST) -> set[str]:
    """Return the attributes that are read of a name `dialect`: ``dialect.x``, ``scope.dialect.x``."""
    return {
        node.attr
        for node in walk(tree)
        if isinstance(node, ast.Attribute) and _called(node.value) == "dialect"
    }


def _called(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


@cache
def read_by() -> dict[str, set[str]]:
    """Return the attributes of a dialect that each file of the package reads, by its path."""
    found = {str(source.path.relative_to(PACKAGE)): uses(source.tree) for source in sources("src")}
    return {name: attributes for name, attributes in found.items() if name != "dialect.py"}


def test_every_switch_names_a_row() -> None:
    assert_none([f.name for f in SWITCHES if not ROW.fullmatch(f.metadata.get("row", ""))])


def test_every_switch_says_what_it_means() -> None:
    assert_none([f.name for f in SWITCHES if len(f.metadata.get("meaning", "")) < 10])


def test_every_switch_makes_a_difference() -> None:
    assert_none(
        [f.name for f in SWITCHES if getattr(V22, f.name) == getattr(V24, f.name) == getattr(GUIDE, f.name)]
    )


def test_the_dialects_are_known_by_name() -> None:
    assert {name: d.name for name, d in DIALECTS.items()} == {"2.2": "2.2", "2.4": "2.4", "guide": "guide"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("new = scope.dialect.pages_22", {"pages_22"}),
        ("if dialect.version < (2, 4): pass", {"version"}),
        ("self.old = old", set()),
        ("'dialect.pages_22'", set()),
    ],
)
def test_uses_are_found_in_code_alone(text: str, found: set[str]) -> None:
    assert uses(ast.parse(text)) == found


def test_every_switch_is_read() -> None:
    assert_none(sorted({f.name for f in SWITCHES}.difference(*read_by().values())))


def test_the_version_is_asked_for_in_few_places() -> None:
    readers = {name for name, attributes in read_by().items() if "version" in attributes}
    assert readers == set(VERSION_READERS)
