"""X22: lines that only 2.4 reads in a .htaccess file, under the AllowOverride of its directory."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.access_control.advisories import htaccess_findings
from whimbrel.upgrade.model import Finding, Risk

BRANCHES = (
    "<IfModule mod_authz_core.c>\nRequire all denied\n</IfModule>\n"
    "<IfModule !mod_authz_core.c>\nOrder allow,deny\nDeny from all\n</IfModule>\n"
)


def found(root: Path, override: str, text: str) -> list[Finding]:
    conf = f"DocumentRoot ROOT/htdocs\n<Directory ROOT/htdocs>\nAllowOverride {override}\n</Directory>\n"
    return list(htaccess_findings(config_tree(root, {"conf/httpd.conf": conf, "htdocs/.htaccess": text})))


def test_a_branch_for_24_needs_the_override_of_its_own_lines(tmp_path: Path) -> None:
    # apache2 with AllowOverride Limit: 500, "Require not allowed here"; with Limit AuthConfig: 403
    (finding,) = found(tmp_path / "a", "Limit", BRANCHES)
    assert (finding.place.line, finding.risk) == (2, Risk.CLOSES)
    where = f"`AllowOverride Limit` of {tmp_path}/a/conf/httpd.conf"
    assert finding.advice.endswith(f"`AllowOverride AuthConfig Limit` in place of {where}")
    assert not found(tmp_path / "b", "Limit AuthConfig", BRANCHES)


def test_a_branch_for_22_alone_is_not_read_by_24(tmp_path: Path) -> None:
    assert not found(tmp_path, "Limit", BRANCHES.partition("</IfModule>\n")[2])


@pytest.mark.parametrize(
    ("line", "is_refused"),
    [
        ("RewriteRule a b [L,END]", True),
        ("RewriteRule a b [QSD]", True),
        ("RewriteRule a b [R=301,L]", False),
        ("RewriteRule END QSD", False),
        ("Header set X-A b expr=%{HTTPS}=='on'", True),
        ("Header set X-A b env=x", False),
    ],
)
def test_flags_and_conditions_of_24_alone(tmp_path: Path, line: str, is_refused: bool) -> None:
    """2.2.34 answers 500: "RewriteRule: unknown flag", "envclause should be in the form env=envar"."""
    findings = found(tmp_path, "All", f"{line}\n")
    assert [(finding.place.line, finding.risk) for finding in findings] == [(1, Risk.OPENS)] * is_refused
