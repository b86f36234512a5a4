"""A server on Windows is one for check, upgrade and verify, before the upgrade and after it."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.unit.upgrade.config_trees import laid
from whimbrel.cli import check, upgrade, verify

GONE = "LoadModule authn_default_module modules/mod_authn_default.so\n"
TEXT = (
    "Listen 8080\nServerName a.example\nLoadModule isapi_module modules/mod_isapi.so\n"
    + GONE
    + "LoadModule authz_host_module modules/mod_authz_host.so\n"
    "<IfModule !mpm_netware_module>\n<IfModule !mpm_winnt_module>\nUser daemon\nGroup daemon\n</IfModule>\n"
    "</IfModule>\n<IfModule mpm_winnt.c>\nThreadsPerChild 250\nMaxRequestsPerChild 0\n</IfModule>\n"
    "<Directory />\nOrder allow,deny\nDeny from all\n</Directory>\n"
)
SHOWN = {
    "root": 'ServerRoot "C:/Apache2"\n',
    "documents": 'DocumentRoot "C:/www"\n',
    "library": 'LoadModule php5_module "c:/php5/php5apache2_2.dll"\n',
}
UNIX_ONLY = ("Invalid command 'User'", "No MPM loaded", "unixd")


@pytest.mark.parametrize("shown", SHOWN)
def test_the_upgraded_text_is_read_as_the_same_system(shown: str, tmp_path: Path) -> None:
    laid(tmp_path / "old", {"conf/httpd.conf": SHOWN[shown] + TEXT})
    run = CliRunner().invoke
    old = str(tmp_path / "old")
    new = str(tmp_path / "new")
    before = run(check.app, [old]).output
    upgraded = run(upgrade.app, [old, "--out", new]).output
    verified = run(verify.app, [old, new]).output
    after = run(check.app, [new]).output
    place = "httpd.conf:1 shows; --builtin FILE for another"
    for text in (before, upgraded, after):
        assert f"read as a server on Windows, as {place}" in " ".join(text.split())
    for text in (before, upgraded, verified, after):
        assert not [words for words in UNIX_ONLY if words in text]
        assert "isapi_module is a module" not in text
    assert "does not load" not in verified
    assert "read as a server on Windows: old (2.2) and new (2.4)" in verified
    line = TEXT.splitlines(keepends=True).index(GONE) + 2
    assert f"2.4 does not start: conf/httpd.conf:{line}: mod_authn_default is gone" in before
    assert "2.4 does not start: " not in after
