"""Copies of a server whose documents differ: the files are the cause, not the versions."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.verify.sites import make_root, side

from whimbrel.verify.located_causes import OTHER_CONTENTS
from whimbrel.verify.verify import verify


@pytest.mark.parametrize("text", ["home\n", "other home\n"])
def test_files_with_other_contents(tmp_path: Path, text: str) -> None:
    """Each httpd sends the file of its own DocumentRoot, whatever its version."""
    sides = []
    for name, dialect, contents in (("old", "2.2", "home\n"), ("new", "2.4", text)):
        make_root(tmp_path / name, {"htdocs/index.html": contents})
        sides.append(side(tmp_path / name, name, f'ServerRoot "{tmp_path}/{name}"\n', dialect))
    reasons = {group.reason for group in verify(*sides, limit=500).groups if "body" in str(group.examples)}
    assert (OTHER_CONTENTS in reasons) is (text != "home\n")
    assert not any("the versions differ in body" in reason for reason in reasons)
