"""X22: lines that only 2.4 reads in a .htaccess file, under the AllowOverride of its directory."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.access_control.refused_htaccess import htaccess_findings
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.source.config_tree import ConfigTree

BRANCHES = (
    "<IfModule mod_authz_core.c>\nRequire all denied\n</IfModule>\n"
    "<IfModule !mod_authz_core.c>\nOrder allow,deny\nDeny from all\n</IfModule>\n"
)


def site(root: Path, override: str, text: str, modules: str = "") -> ConfigTree:
    conf = f"<Directory ROOT/htdocs>\nAllowOverride {override}\n</Directory>\n"
    conf = f"{modules}DocumentRoot ROOT/htdocs\n{conf}"
    return config_tree(root, {"conf/httpd.conf": conf, "htdocs/.htaccess": text})


def found(root: Path, override: str, text: str) -> list[Finding]:
    return list(htaccess_findings(site(root, override, text)))


def test_a_branch_for_24_needs_the_override_of_its_own_lines(tmp_path: Path) -> None:
    # apache2 with AllowOverride Limit: 500, "Require not allowed here"; with Limit AuthConfig: 403
    (finding,) = found(tmp_path / "a", "Limit", BRANCHES)
    assert (finding.place.line, finding.risk) == (2, Risk.CLOSES)
    where = f"`AllowOverride Limit` at {tmp_path}/a/conf/httpd.conf:3"
    alone = "`AllowOverrideList Require` beside that line admits this directive alone"
    assert finding.advice.endswith(f"`AllowOverride AuthConfig Limit` in place of {where}; {alone}")
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


CONTAINER = "<RequireAny>\nRequire ip 10.0.0.1\nRequire valid-user\n</RequireAny>\n"


@pytest.mark.parametrize("text", [CONTAINER, "AuthMerging Or\n", "DirectoryIndex a\n" + CONTAINER])
def test_containers_of_24_that_stood_in_the_file(tmp_path: Path, text: str) -> None:
    """2.2.34 answers 500: Invalid command '<RequireAny>' and 'AuthMerging'."""
    findings = found(tmp_path, "All", text)
    assert [finding.risk for finding in findings] == [Risk.OPENS]
    assert "2.2 refuses" in findings[0].message
    result = upgrade(site(tmp_path / "whole", "All", text))
    assert [finding.rule for finding in result.findings].count("X22") == 1


def test_containers_that_the_upgrade_wrote_are_no_finding(tmp_path: Path) -> None:
    text = "Order allow,deny\nAllow from all\nDeny from 10.0.0.1\n"
    result = upgrade(site(tmp_path, "All", text))
    assert any(b"<RequireAll>" in data for data in result.files.values())
    assert "X22" not in {finding.rule for finding in result.findings}


def test_containers_in_a_server_of_24_are_no_finding(tmp_path: Path) -> None:
    modules = "LoadModule authz_core_module modules/mod_authz_core.so\n"
    assert not list(htaccess_findings(site(tmp_path, "All", CONTAINER, modules)))


@pytest.mark.parametrize("file", ["libphp5", "mod_unknown"])
def test_a_line_of_a_module_of_other_origin_is_not_refused(tmp_path: Path, file: str) -> None:
    """2.2 with PHP reads php_flag; whose directive an unknown name is only the unknown module shows."""
    name = "php5" if file == "libphp5" else "unknown"
    line = "php_flag display_errors on" if name == "php5" else "UnknownThing on"
    modules = f"LoadModule {name}_module modules/{file}.so\n"
    assert not list(htaccess_findings(site(tmp_path, "All", line + "\n", modules)))


@pytest.mark.parametrize(
    ("override", "text", "count"),
    [
        ("AuthConfig Limit", "Options +Indexes\n", 0),
        ("Limit", "Require all granted\n", 1),
        ("FileInfo", "<Limit GET>\nRequire all granted\n</Limit>\n", 1),
    ],
)
def test_what_both_versions_refuse_is_no_finding_of_a_text_of_24(
    tmp_path: Path, override: str, text: str, count: int
) -> None:
    """Both versions: 500, "Options not allowed here" under AllowOverride AuthConfig Limit."""
    modules = "LoadModule authz_core_module modules/mod_authz_core.so\n"
    assert len(list(htaccess_findings(site(tmp_path / "new", override, text, modules)))) == count
