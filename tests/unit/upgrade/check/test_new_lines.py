"""Lines of lone files that 2.2 refuses and 2.4 reads: the messages are those of httpd 2.2."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import laid

from whimbrel.upgrade.check.check import check, parse_selection
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.source.reading import Sources

NEW = [
    ('Header set X-A b "expr=%{REQUEST_STATUS} == 200"', "error: envclause should be in the form env=envar"),
    ("RewriteRule ^x$ /y [END]", "RewriteRule: unknown flag 'END'"),
    ("RewriteRule ^x$ /y [QSD]", "RewriteRule: unknown flag 'QSD'"),
    ("RewriteRule ^x$ /y [B,BNP]", "RewriteRule: unknown flag 'BNP'"),
    ("RewriteOptions InheritDown", "RewriteOptions: unknown option 'InheritDown'"),
    ("<RequireAll>\nRequire all granted\n</RequireAll>", "Invalid command '<RequireAll'"),
    ("AuthMerging And", "Invalid command 'AuthMerging'"),
    ("<If true>\nOptions None\n</If>", "Invalid command '<If'"),
    ("Redirect http://a.test/", "Redirect takes two or three arguments"),
]
OLD = [
    "RewriteRule ^x$ /y [L,QSA,B]",
    "<IfVersion >= 2.4>\nRequire all granted\nAuthMerging And\n</IfVersion>",
    "PassengerEnabled on",
    "AuthzUserAuthoritative Off",
    "DefaultType text/plain",
]


def found(root: Path, name: str, text: str) -> list[Finding]:
    laid(root, {name: text})
    result = check(Sources(fragments=(str(root / name),)), parse_selection("", ""))
    return [finding for finding in result.findings if finding.rule == "X22"]


@pytest.mark.parametrize(("line", "message"), NEW)
def test_a_fragment_with_a_line_that_22_refuses(tmp_path: Path, line: str, message: str) -> None:
    one = found(tmp_path, "part.conf", f"<Directory /srv>\nOptions None\n{line}\n</Directory>\n")
    assert [(finding.place.line, finding.risk) for finding in one] == [(3, Risk.CHANGES)]
    assert f"2.2 does not start with this line, which 2.4 reads: {message}" in one[0].message
    assert "misspelled" not in one[0].message
    assert one[0].advice.startswith("do nothing if the file is for 2.4 already")


def test_a_lone_directive_of_24(tmp_path: Path) -> None:
    (one,) = found(tmp_path, "part.conf", "MaxRequestWorkers 150\n")
    assert one.message.endswith("which 2.4 reads: Invalid command 'MaxRequestWorkers'")


@pytest.mark.parametrize("line", [line for line, _ in NEW])
def test_a_htaccess_file_is_one_finding(tmp_path: Path, line: str) -> None:
    one = found(tmp_path, ".htaccess", f"Options None\n{line}\n")
    assert [(finding.place.line, finding.risk) for finding in one] == [(2, Risk.OPENS)]


@pytest.mark.parametrize("name", [".htaccess", "part.conf"])
@pytest.mark.parametrize("line", OLD)
def test_lines_that_22_reads_or_no_version_knows(tmp_path: Path, name: str, line: str) -> None:
    assert found(tmp_path, name, f"{line}\n") == []
