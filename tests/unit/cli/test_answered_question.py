"""A question of `upgrade` about access stands at the lines that decide, and the comment there answers it."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from whimbrel.cli import upgrade, verify

CONF = """ServerRoot {root}
Listen 80
LoadModule authz_host_module modules/mod_authz_host.so
LoadModule authz_user_module modules/mod_authz_user.so
LoadModule auth_basic_module modules/mod_auth_basic.so
LoadModule authn_file_module modules/mod_authn_file.so
LoadModule alias_module modules/mod_alias.so
DefaultType None
FileETag MTime Size
Options None
<Directory />
    Order Deny,Allow
    Deny from all
</Directory>
Alias /admin {root}/admin
<Directory {root}/admin>
    Order deny,allow
    Deny from all
    Allow from 192.0.2.0/24
</Directory>
<Directory {root}/admin/setup>
    AuthType Basic
    AuthName s
    AuthUserFile {root}/conf/users
    Require valid-user
</Directory>
NameVirtualHost *:80
<VirtualHost *:80>
    ServerName a.example
    DocumentRoot {root}/www
    <Directory {root}/www>
        Order allow,deny
        Allow from all
        Deny from 203.0.113.66
    </Directory>
    <Directory {root}/www/staging>
        AuthType Basic
        AuthName s
        AuthUserFile {root}/conf/users
        Require valid-user
        Order deny,allow
        Deny from all
        Allow from 192.0.2.0/24
        Satisfy Any
    </Directory>
    <Files login.php>
        Order deny,allow
        Deny from all
        Allow from 192.0.2.0/24 198.51.100.7
    </Files>
</VirtualHost>
"""
DECIDES = "        Require ip 192.0.2.0/24 198.51.100.7\n"


def access_of(old: Path, new: Path) -> dict[str, list[str]]:
    """Return the comments that decide about each difference of access, by its first request."""
    done = CliRunner().invoke(verify.app, ["--format", "json", str(old), str(new)])
    groups = json.loads(done.stdout)["differences"]
    return {str(one["examples"][0]["request"]): one["decided"] for one in groups if one["kind"] == "access"}


def test_the_comment_at_the_named_line_answers_the_question(tmp_path: Path) -> None:
    """2.4 takes the `Require ip` of <Files> in the place of the Require lines of both directories, which 2.2
    asks beside the addresses: that one line decides, and those of the other sections do not. The directory of
    the main server has no <Files> of the virtual host around it, so no text for both is written.
    """
    old = tmp_path / "old"
    (old / "conf").mkdir(parents=True)
    (old / "conf/users").write_text("robin:$apr1$a$0000000000000000000000\n")
    for name in ("www/staging", "admin/setup"):
        (old / name).mkdir(parents=True)
    (old / "conf/httpd.conf").write_text(CONF.format(root=old))
    new = tmp_path / "new"
    words = ["--format", "json", "--out", str(new), str(old)]
    told = json.loads(CliRunner().invoke(upgrade.app, words).stdout)
    number = CONF.split("\n").index("    <Files login.php>") + 1
    asked = [one for one in told["findings"] if one["decision"] and one["rule"] in ("C17", "C22")]
    assert [(one["rule"], one["line"]) for one in asked] == [("C17", number)]
    question = asked[0]["decision"]
    assert "/admin/setup/login.php (" in question and ": 401 -> granted" in question
    assert "/staging/login.php (" in question and "-> 403?" in question
    before = access_of(old, new)
    assert before and not any(before.values())
    main = new / "conf/httpd.conf"
    text = main.read_text()
    for line, is_decided in (("        Require ip 192.0.2.0/24\n", False), (DECIDES, True)):
        assert line in text
        main.write_text(text.replace(line, f"        # whimbrel: ignore[C17]\n{line}"))
        comments = access_of(old, new)
        assert comments.keys() == before.keys()
        assert [bool(one) for one in comments.values()] == [is_decided] * len(before), comments
