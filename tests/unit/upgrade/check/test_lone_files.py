"""Files without their server are loaded under 2.4 after the upgrade.

The messages are those of apache2 2.4.71."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import fragments

from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.check.load_errors import add_load_errors
from whimbrel.upgrade.model import Risk


def refused(root: Path, name: str, text: str) -> list[tuple[int, str]]:
    """Return the lines that 2.4 refuses after the upgrade, and the end of what is said about each."""
    result = upgrade(fragments(root, {name: text}))
    before = len(result.findings)
    add_load_errors(result, None)
    found = result.findings[before:]
    assert all(finding.risk is Risk.BREAKS and finding.needs_review for finding in found)
    return [(finding.place.line, finding.message.rpartition(": ")[2]) for finding in found]


def test_lines_of_a_server_in_a_htaccess_file(tmp_path: Path) -> None:
    text = "Options None\nListen 80\nErrorDocument 404 /a\nServerName a\n"
    assert refused(tmp_path, ".htaccess", text) == [
        (2, "Listen not allowed here"),
        (4, "ServerName not allowed here"),
    ]


def test_a_line_that_a_rule_edited_is_reported_too(tmp_path: Path) -> None:
    assert refused(tmp_path, ".htaccess", "ServerTokens Maximal\n") == [(1, "ServerTokens not allowed here")]


def test_a_section_in_the_wrong_place(tmp_path: Path) -> None:
    text = "<Location /a>\n<Files b>\nOptions None\n</Files>\n</Location>\n"
    assert refused(tmp_path, "a.conf", text) == [(2, "<Files> cannot occur within <Location> section")]


@pytest.mark.parametrize(
    "text",
    [
        "<Location />\nPassengerEnabled on\nRequire passenger\n</Location>\n",
        "MinSpareServers 3\n",
        "LoadModule dav_svn_module modules/mod_dav_svn.so\n<Location /svn>\nDAV svn\n</Location>\n",
        "Include conf.d/*.conf\nOptions None\n",
        "SSLCertificateFile /nowhere/a.pem\n",
        "ServerAdmin ${ADMIN}\nListen ${PORT}\n",
        "Order allow,deny\n",
    ],
)
def test_what_another_machine_may_have_is_not_refused(text: str, tmp_path: Path) -> None:
    assert refused(tmp_path, "a.conf", text) == []
