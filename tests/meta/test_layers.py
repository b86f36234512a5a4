"""Imports go one way only: pyproject.toml holds the contracts, import-linter checks them."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.meta.tree import PACKAGE, ROOT, assert_none, sources, walk


def test_import_contracts_hold() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    if not linter.exists():
        pytest.skip("import-linter is not installed")
    done = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_global_statement() -> None:
    found = [
        f"{s.name}:{n.lineno}" for s in sources("src") for n in walk(s.tree) if isinstance(n, ast.Global)
    ]
    assert_none(found)


def test_every_folder_of_the_package_is_a_package() -> None:
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert_none(sorted(str(f) for f in folders if not (f / "__init__.py").exists()))
