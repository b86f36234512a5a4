"""Sections that a request reaches only under the right host name, or only for a name without a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.verify.sites import make_root, side

from whimbrel.verify.verification import Verdict
from whimbrel.verify.verify import verify

HOST = (
    "NameVirtualHost *:8080\n<VirtualHost *:8080>\nServerName www.corp.example\nServerAlias corp.example\n"
    'DocumentRoot "@ROOT@/htdocs"\nRewriteEngine On\nRewriteCond %{HTTP_HOST} ^corp\\.example [NC]\n'
    "RewriteRule ^/(.*)$ http://www.corp.example/$1 [R=301,L]\n</VirtualHost>\n"
)
OPEN = '<Directory "@ROOT@/htdocs">\nAllowOverride All\nOrder allow,deny\nAllow from all\n</Directory>\n'
FILES = {"htdocs/private/.htaccess": "Order deny,allow\nDeny from all\nAllow from 10.1\n"}
NAMES = '<FilesMatch "\\.(bak|sql)$">\n%s\n</FilesMatch>\n'
DENIED = "Order allow,deny\nDeny from all"
ANY = "Order allow,deny\nAllow from 10.1"


@pytest.mark.parametrize("hosts", ["", HOST])
def test_names_without_a_file_meet_the_sections_of_directories(tmp_path: Path, hosts: str) -> None:
    make_root(tmp_path, FILES)
    old = side(tmp_path, "old", OPEN + NAMES % DENIED + hosts, "2.2")
    new = side(tmp_path, "new", OPEN + NAMES % ANY + hosts, "2.2")
    result = verify(old, new)
    assert result.verdict is Verdict.DIFFERENT
    targets = {example.probe.target for group in result.groups for example in group.examples}
    assert any(target.startswith("/") and target.endswith((".bak", ".sql")) for target in targets)


def test_a_host_is_asked_under_a_name_that_does_not_redirect(tmp_path: Path) -> None:
    make_root(tmp_path, FILES)
    inner = '<Directory "@ROOT@/htdocs/private">\n%s\n</Directory>\n'
    no_htaccess = OPEN.replace("AllowOverride All", "AllowOverride None")
    end = "</VirtualHost>\n"
    old = side(tmp_path, "old", no_htaccess + HOST.replace(end, inner % DENIED + end), "2.2")
    new = side(tmp_path, "new", no_htaccess + HOST.replace(end, inner % ANY + end), "2.2")
    result = verify(old, new)
    hosts = {example.probe.host for group in result.groups for example in group.examples}
    assert result.verdict is Verdict.DIFFERENT
    assert hosts
    assert "corp.example:8080" not in hosts
