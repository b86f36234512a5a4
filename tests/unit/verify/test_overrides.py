"""Directories with .htaccess files that a side may read: httpd's order of <Directory> sections decides."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.unit.verify.sites import make_root, side

from whimbrel.verify.config_lines import SideLines
from whimbrel.verify.overrides import Overrides

SECTIONS = 3000
BOUND = 3.0
"""Seconds of one process; a walk through all sections for each directory takes minutes."""


def section(directory: str, override: str) -> str:
    return f"<Directory {directory}>\nAllowOverride {override}\n</Directory>\n"


@pytest.mark.parametrize(
    ("dialect", "text", "directory", "may_read"),
    [
        ("2.2", "", "/srv/a/", True),
        ("2.4", "", "/srv/a/", False),
        ("2.4", section("/srv", "All"), "/srv/a/", True),
        ("2.2", section("/", "None"), "/srv/a/", False),
        ("2.4", section("/srv", "All") + section("/srv/a", "None"), "/srv/a/", False),
        ("2.4", section("/srv/a", "None") + section("/srv", "All"), "/srv/a/", False),
        ("2.4", section("/srv/a", "None") + section("/srv/a", "FileInfo"), "/srv/a/", True),
        ("2.4", section("/srv/a/b", "All"), "/srv/a/", True),
        ("2.4", section("/srv/ab", "All"), "/srv/a/", False),
        ("2.4", section("/srv/*", "All"), "/srv/a/", True),
        ("2.4", section("/srv/*/b", "All"), "/srv/a/", True),
        ("2.4", section("/home/*/b", "All"), "/srv/a/", False),
        ("2.4", section("/srv", "All") + section("/srv/[a-c]", "None"), "/srv/a/", False),
        ("2.4", section('~ "^/srv/"', "All"), "/srv/a/", True),
        ("2.4", section("/srv", "None\nAllowOverrideList Redirect"), "/srv/a/", True),
    ],
)
def test_the_innermost_section_decides(
    tmp_path: Path, dialect: str, text: str, directory: str, may_read: bool
) -> None:
    make_root(tmp_path)
    loaded = side(tmp_path, "a", text, dialect)
    assert loaded.is_loaded, loaded.errors
    assert Overrides(SideLines(loaded)).may_read(directory) is may_read


def test_many_sections_take_linear_time(tmp_path: Path) -> None:
    make_root(tmp_path)
    text = section("/", "None") + "".join(section(f"/srv/h{n}", "All") for n in range(SECTIONS))
    lines = SideLines(side(tmp_path, "a", text, "2.4"))
    start = time.process_time()
    overrides = Overrides(lines)
    assert all(overrides.may_read(f"/srv/h{n}/") for n in range(SECTIONS))
    assert not any(overrides.may_read(f"/srv/g{n}/") for n in range(SECTIONS))
    assert time.process_time() - start < BOUND
