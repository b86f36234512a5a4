"""Hook makers that are imported when they are needed."""

from __future__ import annotations

import sys
from pathlib import Path
from unittest.mock import create_autospec

import pytest

from whimbrel.registry.module import Scope, lazy_maker


def test_a_lazy_maker_imports_its_module_at_the_first_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "test_module_lazy.py").write_text("def make(scope):\n    return scope\n")
    monkeypatch.syspath_prepend(tmp_path)
    maker = lazy_maker("test_module_lazy", "make")
    assert maker.__module__ == "test_module_lazy" and "test_module_lazy" not in sys.modules
    scope = create_autospec(Scope, instance=True)
    try:
        assert maker(scope) is scope
        assert maker(scope) is scope
    finally:
        sys.modules.pop("test_module_lazy", None)
