"""The notice above answers of 2.4 to texts of 2.2 names the line that shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.explain.explained_site import CONF, side_of

from whimbrel.config.options import LoadOptions
from whimbrel.explain.version_notice import _is_of_24, _loads_module_of_24, version_notice
from whimbrel.verify.loading import load_side

COMPAT = "LoadModule access_compat_module modules/mod_access_compat.so\n"


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ("<IfModule x>\n</IfModule>\n<Location /a>\nDeny from all\n</Location>\n", "Deny"),
        ("NameVirtualHost *:80\n", "NameVirtualHost"),
        ("<Location /a>\nOrder deny,allow\n</Location>\n", "Order"),
        ("LockFile logs/accept.lock\n", "LockFile"),
    ],
    ids=["loads", "ignored", "does not load", "gone"],
)
def test_a_line_of_22(tmp_path: Path, more: str, name: str) -> None:
    file = tmp_path / "httpd.conf"
    file.write_text(f"Listen 80\nServerName localhost\nDocumentRoot {tmp_path}\n{COMPAT}{more}")
    if "Order" in more:
        file.write_text(file.read_text().replace(COMPAT, ""))
    side = load_side(LoadOptions(server_root=str(tmp_path), file=str(file)), "2.4")
    notice = version_notice(side, str(tmp_path))
    assert notice.startswith("answered as httpd 2.4, the default; the text looks like 2.2: ")
    found = re.search(f"{name} at httpd.conf:([0-9]+)", notice)
    assert found is not None
    # without an answer the last line of the explanation names the other version
    assert notice.endswith("; --dialect 2.2 answers as 2.2") is side.is_loaded
    lines = (tmp_path / "httpd.conf").read_text().splitlines()
    assert lines[int(found[1]) - 1].startswith(name)


@pytest.mark.parametrize(
    "more",
    [f"{COMPAT}<Location /a>\nOrder deny,allow\n</Location>\n", "NameVirtualHost *:80\n", "LockFile x\n"],
)
def test_a_text_that_loads_modules_of_24_is_none_of_22(tmp_path: Path, more: str) -> None:
    """2.2 has neither authz_core nor MPMs to load: an Order that was kept makes no text of 2.2."""
    assert version_notice(side_of(tmp_path, CONF + more), str(tmp_path)) == ""


@pytest.mark.parametrize(
    ("name", "args", "is_new"),
    [
        *(
            (name, "", True)
            for name in ("<RequireAll", "<RequireAny", "<requirenone", "IncludeOptional", "Mutex")
        ),
        *(
            ("Require", f"{word} x", True)
            for word in ("all", "IP", "host", "forward-dns", "local", "env", "not")
        ),
        *(("Require", f"{word} x", True) for word in ("method", "expr")),
        *(("Require", f"{word} x", False) for word in ("user", "valid-user", "group", "file-owner")),
        ("Require", "", False),
        ("Order", "deny,allow", False),
    ],
)
def test_lines_that_only_24_reads(name: str, args: str, is_new: bool) -> None:
    assert _is_of_24(name, args) is is_new


@pytest.mark.parametrize(
    ("module", "is_new"),
    [
        *(
            (f"{name}_module", True)
            for name in ("authz_core", "mpm_event", "mpm_worker", "mpm_prefork", "unixd")
        ),
        *((f"{name}_module", False) for name in ("dir", "access_compat", "php5", "authz_host", "none")),
    ],
)
def test_modules_that_only_24_loads(module: str, is_new: bool) -> None:
    """MPMs are compiled into 2.2; mod_access_compat is for texts of 2.2."""
    assert _loads_module_of_24(module) is is_new


MIXED = """LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule authz_core_module modules/mod_authz_core.so
LoadModule authz_host_module modules/mod_authz_host.so
Listen 80
ServerName localhost
"""
SECTION = "<Location /{}>\nOrder deny,allow\nDeny from all\n</Location>\n"


def notice_of(root: Path, text: str) -> str:
    file = root / "httpd.conf"
    file.write_text(text)
    return version_notice(load_side(LoadOptions(server_root=str(root), file=str(file)), "2.4"), str(root))


def test_a_text_of_22_that_loads_modules_of_24(tmp_path: Path) -> None:
    """Most lines decide, not one: 2.4 refuses Order without mod_access_compat, and 2.2 the modules."""
    notice = notice_of(tmp_path, MIXED + "".join(SECTION.format(name) for name in "abc"))
    assert "the text mixes versions: 6 lines of 2.2, first Order at httpd.conf:7, and 2 of 2.4" in notice
    assert "first LoadModule mpm_event_module, with which no 2.2 starts" in notice
    assert "--dialect" not in notice


def test_order_beside_mod_access_compat_is_meant_for_24(tmp_path: Path) -> None:
    assert notice_of(tmp_path, MIXED + COMPAT + "".join(SECTION.format(name) for name in "abc")) == ""


@pytest.mark.parametrize("more", ["", "<IfModule !mod_authz_core.c>\nLockFile x\n</IfModule>\n", "Bogus x\n"])
def test_no_line_of_22(tmp_path: Path, more: str) -> None:
    assert version_notice(side_of(tmp_path, CONF + more), str(tmp_path)) == ""
