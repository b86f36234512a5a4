"""Explanations as text."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.explain.explained_site import CONF, explained, side_of

from whimbrel.explain.text import console, side_by_side, tree


def test_a_tree_names_files_and_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    explanation = explained(side_of(tmp_path), "/old/x")
    console().print(tree(explanation, str(tmp_path)))
    out = capsys.readouterr().out
    line = (tmp_path / "httpd.conf").read_text().split("\n").index("Redirect /old /new") + 1
    assert f"httpd.conf:{line}  Redirect /old /new" in out
    assert "\x1b[" not in out


def test_both_sides_and_what_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = explained(side_of(tmp_path), "/old/x")
    new = explained(side_of(tmp_path, CONF.replace("Redirect /old", "Redirect /older")), "/old/x")
    console().print(side_by_side(old, new, ("before", "after")))
    out = capsys.readouterr().out
    assert "before: mapping: mod_alias" in out and "after: nothing" in out
