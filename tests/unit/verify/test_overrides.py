"""Directories with .htaccess files that a side may read: httpd's order of <Directory> sections decides."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.unit.verify.sites import make_root, side

from whimbrel.upgrade.knowledge.scope import UnknownKind
from whimbrel.verify.config_lines import SideLines
from whimbrel.verify.damaged_htaccess import damaged_htaccess
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


def test_htaccess_files_above_and_below_what_is_served_are_found_once(tmp_path: Path) -> None:
    """Manual, howto/htaccess.html: httpd looks for the file in all higher-level directories."""
    make_root(tmp_path)
    for name in ("", "htdocs", "htdocs/private", "conf"):
        (tmp_path / name / ".htaccess").write_text("Header set X-A 1\n")
    text = f'Alias /in "{tmp_path}/htdocs/private"'
    scopes = SideLines(side(tmp_path, "a", text, "2.4")).scopes
    found = sorted(scope.args for scope in scopes if scope.kind == "htaccess")
    assert found == [f"{tmp_path}/", f"{tmp_path}/htdocs/", f"{tmp_path}/htdocs/private/"]


def test_directories_are_walked_in_the_order_of_their_names(tmp_path: Path) -> None:
    """The requests that are derived first are the same on every file system."""
    make_root(tmp_path)
    names = [f"{number:02x}" for number in (*range(7, 40), *range(7))]
    for name in names:
        (tmp_path / "htdocs" / name / "in").mkdir(parents=True)
    directories = list(SideLines(side(tmp_path, "a", "", "2.4")).directories)
    below = [one.removeprefix(f"{tmp_path}/htdocs/") for one in directories if "/htdocs/" in one]
    wanted = [one for name in sorted(names) for one in (f"{name}/", f"{name}/in/")]
    assert [one for one in below if one[:2] in names] == wanted


@pytest.mark.parametrize(
    ("text", "consequence"),
    [
        (b"Header set X-A \0b\n", None),
        (b"Header set X-A 1\n<IfModule x>\n", "httpd answers 500 in this directory"),
        (b"Header set X-A {{ value }}\n", "the text that httpd would read is not here"),
        (b"Header set X-A 1\n", None),
    ],
)
@pytest.mark.parametrize("override", ["All", "None"])
def test_damaged_files_that_a_side_may_read_are_named(
    tmp_path: Path, text: bytes, consequence: str | None, override: str
) -> None:
    make_root(tmp_path)
    (tmp_path / "htdocs/.htaccess").write_bytes(text)
    lines = SideLines(side(tmp_path, "a", section(f"{tmp_path}/htdocs", override), "2.4"))
    found = list(damaged_htaccess([lines]))
    has_fault = override == "All" and text != b"Header set X-A 1\n"
    assert [item.kind for item in found] == [UnknownKind.NOT_READ] * has_fault
    if has_fault:
        assert found[0].consequence == (consequence or "")
        assert found[0].place is not None and found[0].place.path == f"{tmp_path}/htdocs/.htaccess"


def test_many_sections_take_linear_time(tmp_path: Path) -> None:
    make_root(tmp_path)
    text = section("/", "None") + "".join(section(f"/srv/h{n}", "All") for n in range(SECTIONS))
    lines = SideLines(side(tmp_path, "a", text, "2.4"))
    start = time.process_time()
    overrides = Overrides(lines)
    assert all(overrides.may_read(f"/srv/h{n}/") for n in range(SECTIONS))
    assert not any(overrides.may_read(f"/srv/g{n}/") for n in range(SECTIONS))
    assert time.process_time() - start < BOUND
