"""The notice above answers of 2.4 to texts of 2.2 names the line that shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.explain.explained_site import CONF, side_of

from whimbrel.explain.version_notice import version_notice

COMPAT = "LoadModule access_compat_module modules/mod_access_compat.so\n"


@pytest.mark.parametrize(
    ("more", "name"),
    [
        (f"{COMPAT}<Location /a>\nOrder deny,allow\n</Location>\n", "Order"),
        ("NameVirtualHost *:80\n", "NameVirtualHost"),
        ("<Location /a>\nOrder deny,allow\n</Location>\n", "Order"),
        ("LockFile logs/accept.lock\n", "LockFile"),
    ],
    ids=["loads", "ignored", "does not load", "gone"],
)
def test_a_line_of_22(tmp_path: Path, more: str, name: str) -> None:
    side = side_of(tmp_path, CONF + more)
    notice = version_notice(side, str(tmp_path))
    assert notice.startswith("answered as httpd 2.4, the default; the text looks like 2.2: ")
    found = re.search(f"{name} at httpd.conf:([0-9]+); --dialect 2.2 answers as 2.2", notice)
    assert found is not None
    lines = (tmp_path / "httpd.conf").read_text().splitlines()
    assert lines[int(found[1]) - 1].startswith(name)


@pytest.mark.parametrize("more", ["", "<IfModule !mod_authz_core.c>\nLockFile x\n</IfModule>\n", "Bogus x\n"])
def test_no_line_of_22(tmp_path: Path, more: str) -> None:
    assert version_notice(side_of(tmp_path, CONF + more), str(tmp_path)) == ""
