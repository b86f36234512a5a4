"""`whimbrel explain --backups`: a request to what an upgrade replaced, and to what it wrote."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from whimbrel.cli import explain, upgrade

CONF = """ServerRoot "{root}"
Listen 127.0.0.1:8080
ServerName a.example
DefaultType None
LoadModule dir_module modules/mod_dir.so
LoadModule authz_host_module modules/mod_authz_host.so
DocumentRoot "{root}/htdocs"
<Directory "{root}/htdocs">
    AllowOverride Limit
    Order deny,allow
    Deny from all
    Allow from 10.0.0.0/8
</Directory>
"""
"""A text of 2.2: 2.4 neither starts with it nor has Order without mod_access_compat."""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = tmp_path / "site"
    for name in ("conf", "htdocs/sub", "htdocs/other"):
        (root / name).mkdir(parents=True)
    (root / "conf/httpd.conf").write_text(CONF.format(root=root))
    (root / "htdocs/index.html").write_text("hello\n")
    (root / "htdocs/sub/index.html").write_text("hello\n")
    return root


def explained(site: Path, *words: str) -> Result:
    return CliRunner().invoke(explain.app, [*words, "-d", str(site)])


def upgraded(site: Path) -> None:
    found = CliRunner().invoke(upgrade.app, ["--write", "-d", str(site)])
    assert "Require ip 10.0.0.0/8" in (site / "conf/httpd.conf").read_text(), found.output


def test_both_lines_that_deny_are_named(site: Path) -> None:
    """2.2 refuses by Deny, which no Allow undoes; 2.4 by the Require that has the place of both."""
    upgraded(site)
    found = explained(site, "--backups", "http://a.example/")
    assert found.exit_code == 0, found.output
    assert found.stdout.startswith("same answer: 403 Forbidden\n")
    before, after = found.stdout.split("in 2.4\n", 1)
    assert "in 2.2 before the upgrade\nbecause  Deny from all  conf/httpd.conf:11\n" in before
    assert "Require ip 10.0.0.0/8" in after
    admitted = explained(site, "--backups", "http://a.example/", "--from", "10.1.2.3")
    assert admitted.exit_code == 0 and admitted.stdout.startswith("same answer: 200 OK\n")


def test_what_was_changed_after_the_upgrade_is_a_difference(site: Path) -> None:
    upgraded(site)
    main = site / "conf/httpd.conf"
    main.write_text(main.read_text().replace("Require ip 10.0.0.0/8", "Require ip 11.0.0.0/8"))
    found = explained(site, "--backups", "--json", "http://a.example/", "--from", "10.1.2.3")
    told = json.loads(found.stdout)
    assert found.exit_code == 1
    assert (told["old"]["status"], told["new"]["status"]) == (200, 403)


def test_the_replaced_text_alone_answers_as_22(site: Path) -> None:
    upgraded(site)
    found = explained(site, "--backups", "--dialect", "2.2", "http://a.example/")
    assert found.stdout.startswith("403 Forbidden   GET http://a.example:8080/ from 192.0.2.1, ")
    assert "   httpd 2.2\nbecause  Deny from all  conf/httpd.conf:11\n" in found.stdout


@pytest.mark.parametrize("words", [(), ("--dialect", "2.2"), ("--diff", "2.2")])
def test_the_option_is_named_where_the_text_is_an_upgraded_one(site: Path, words: tuple[str, ...]) -> None:
    """The last line says how to ask the text of 2.2; without a journal of the tree there is none to ask."""
    upgraded(site)
    copy = site.with_name("copy")
    shutil.copytree(site, copy)
    last = explained(site, *words, "http://a.example/").stdout.splitlines()[-1]
    assert "--backups compares with the text of 2.2 that the upgrade replaced" in last
    assert "--backups" not in explained(copy, *words, "http://a.example/").stdout
    refused = explained(copy, "--backups", "http://a.example/")
    assert refused.exit_code == 2 and "no upgrade was written here" in refused.output


def test_a_text_of_22_that_is_not_known_is_said(site: Path) -> None:
    """No backup has the text of 2.2 of a file that was changed later: requests elsewhere are sure."""
    (site / "htdocs/sub/.htaccess").write_text("Order allow,deny\n")
    (site / "htdocs/other/.htaccess").write_text("# nothing\n")
    upgraded(site)
    (site / "htdocs/other/.htaccess").write_text("Require all denied\n")
    met = explained(site, "--backups", "http://a.example/other/")
    assert met.exit_code in (1, 3)
    assert "was changed after the upgrade" in met.stdout
    other = explained(site, "--backups", "http://a.example/sub/")
    assert other.exit_code == 0 and "was changed after the upgrade" not in other.stdout, other.stdout


@pytest.mark.parametrize("words", [("C17",), ("/x", "--diff", "2.4"), ("conf/httpd.conf:3",)])
def test_wrong_usage(site: Path, words: tuple[str, ...]) -> None:
    found = explained(site, "--backups", *words)
    assert found.exit_code == 2 and "--backups" in found.output
