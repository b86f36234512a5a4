"""Reasons that findings give for lines of mod_access_compat that stay, and for directives that go."""

from __future__ import annotations

from pathlib import Path

from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.check.fixpoint import upgrade

MODULES = "".join(
    f"LoadModule {name}_module modules/mod_{name}.so\n"
    for name in ("authz_host", "auth_basic", "authn_file", "authz_user", "authz_groupfile", "status")
)
TEXT = f"""{MODULES}Listen 80
<Location /server-status>
    Order deny,allow
    Deny from all
    Allow from 127.0.0.1
</Location>
Alias /server-status/x /srv/b
<VirtualHost *:80>
    ServerName a.example
    DocumentRoot /srv/a
    <Directory /srv/a>
        Order deny,allow
        Deny from all
        Allow from 10.0.0.0/8
        AuthType Basic
        AuthName a
        AuthUserFile users
        AuthzUserAuthoritative off
        Require valid-user
        Satisfy All
    </Directory>
</VirtualHost>
<VirtualHost *:80>
    ServerName b.example
    DocumentRoot /srv/b
    <Directory /srv/b>
        Order allow,deny
        Allow from all
    </Directory>
</VirtualHost>
"""
LINES = TEXT.splitlines()


def test_a_finding_names_what_it_removes_and_why_it_keeps_the_rest(tmp_path: Path) -> None:
    """Require in the <Location> would replace the password of the directory, so Order stays there; a part of
    the URLs has another directory, so the section cannot be repeated in the host.
    """
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": TEXT}))
    by_line = {one.place.line: one for one in result.findings if one.rule in ("C17", "C20")}
    directory = by_line[LINES.index("    <Directory /srv/a>") + 1]
    location = by_line[LINES.index("<Location /server-status>") + 1]
    assert "AuthzUserAuthoritative is gone: Require lines are alternatives" in directory.message
    text = f"{location.message}\n{location.evidence}"
    assert "stay with mod_access_compat: no Require was found that decides alike together with" in text
    assert f"conf/httpd.conf:{directory.place.line}" in text
    assert "with Require alone: /server-status: " in text and "2.2 answers 200, 2.4 answers 403" in text


def test_a_limit_that_goes_has_its_reason(tmp_path: Path) -> None:
    """2.2 joins both Order blocks, so that Allow wins: apache2 answers a POST with 200 before and after."""
    around = "<Directory /srv/a>\n    Order allow,deny\n    Allow from all\n    {limit}\n</Directory>\n"
    idle = "<Limit POST PUT>\n    Order deny,allow\n    Deny from all\n    </Limit>"
    deciding = "<Limit POST PUT>\n    Order allow,deny\n    Deny from all\n    </Limit>"
    advice = {}
    for limit in (idle, deciding):
        text = f"{MODULES}Listen 80\nDocumentRoot /srv/a\n{around.format(limit=limit)}"
        result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": text}))
        (found,) = [one for one in result.findings if one.rule == "C17" and "/srv" in text and one.edits]
        advice[limit] = found.advice
        line = text[: text.index("<Limit")].count("\n") + 1
    assert advice[idle].endswith(f"<Limit POST PUT> at line {line} never decided: the lines around it do")
    assert "never decided" not in advice[deciding]
