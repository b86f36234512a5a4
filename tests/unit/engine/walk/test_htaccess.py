""".htaccess files as a request meets them: where they are read, when again, and what a broken one does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.unit.modules.access import Site

MODULES = "mpm_event authz_core dir headers"


def site_with(root: Path, override: str = "AllowOverride All", conf: str = "") -> Site:
    return Site(root, f'{conf}\n<Directory "@DOCROOT@">\n{override}\n</Directory>\n', modules=MODULES)


def write(root: Path, name: str, text: str) -> None:
    path = root / "htdocs" / name
    path.write_text(text)
    os.utime(path, (1_600_000_000, 1_600_000_000))


def x_field(site: Site, path: str = "/in/f.html") -> str:
    lines = site.ask(path).split("\r\n")
    return next((line[3:] for line in lines if line.startswith("X: ")), "")


def test_files_are_merged_from_the_root_down(tmp_path: Path) -> None:
    site = site_with(tmp_path)
    write(tmp_path, ".htaccess", "Header append X a\n")
    write(tmp_path, "in/.htaccess", "Header append X b\n")
    assert (x_field(site), x_field(site, "/f.html")) == ("a, b", "a")


def test_allow_override_none_does_not_read_them(tmp_path: Path) -> None:
    site = site_with(tmp_path, "AllowOverride None")
    write(tmp_path, ".htaccess", "nonsense\n")
    assert site.status("/f.html") == 200


def test_a_class_that_is_not_allowed_answers_500(tmp_path: Path) -> None:
    site = site_with(tmp_path, "AllowOverride AuthConfig")
    write(tmp_path, ".htaccess", "Header set X a\n")
    assert site.status("/f.html") == 500


@pytest.mark.parametrize("text", ["nonsense\n", "<Files x>\n", "Header\n"])
def test_a_broken_file_answers_500_for_its_tree_alone(tmp_path: Path, text: str) -> None:
    site = site_with(tmp_path)
    write(tmp_path, "in/.htaccess", text)
    assert (site.status("/in/f.html"), site.status("/f.html")) == (500, 200)


def test_access_file_name_takes_the_first_that_exists(tmp_path: Path) -> None:
    site = site_with(tmp_path, conf="AccessFileName .first .second")
    write(tmp_path, ".second", "Header append X second\n")
    assert x_field(site) == "second"
    write(tmp_path, ".first", "Header append X first\n")
    assert x_field(site) == "first"


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    site = site_with(tmp_path)
    for text in ("one", "three"):
        write(tmp_path, ".htaccess", f"Header set X {text}\n")
        assert x_field(site) == text
    os.unlink(tmp_path / "htdocs/.htaccess")
    assert x_field(site) == ""


def test_allow_override_list_names_single_directives(tmp_path: Path) -> None:
    site = site_with(tmp_path, "AllowOverride None\nAllowOverrideList Header")
    write(tmp_path, ".htaccess", "Header set X a\n")
    assert x_field(site) == "a"
    write(tmp_path, ".htaccess", "Header set X a\nRequire all granted\n")
    assert site.status("/f.html") == 500
