"""Each module of the table of modules has a test on a server with nothing replaced, or a named reason."""

from __future__ import annotations

from tests.differential.module_table import ELSEWHERE, ROWS
from tests.meta.tree import ROOT, assert_none
from whimbrel.modules import ALL

MODULES = frozenset(row.module for row in ROWS)


def test_every_module_has_a_row_or_a_reason() -> None:
    assert_none(sorted(set(ALL) - MODULES - ELSEWHERE.keys()))


def test_reasons_are_about_modules_without_row() -> None:
    assert_none(sorted(ELSEWHERE.keys() & MODULES) + sorted((ELSEWHERE.keys() | MODULES) - set(ALL)))


def test_tests_of_modules_without_row_name_them() -> None:
    missing = []
    for module, (file, _reason) in ELSEWHERE.items():
        path, word = ROOT / file, module.removeprefix("mod_").rstrip("57")
        if not path.is_file() or word not in path.read_text():
            missing.append(f"{module}: {file}")
    assert_none(missing)


def test_hosts_are_unique() -> None:
    """A response is found by dialect and host."""
    keys = [(version, row.process, row.host) for row in ROWS for version in row.versions]
    assert_none(sorted({key for key in keys if keys.count(key) > 1}))
