"""A question of `upgrade` about access stands at the lines that decide, and the comment there answers it."""

from __future__ import annotations

import json
import re
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
Question = tuple[str, tuple[int, ...], str]
"""The rule, the lines, and the text of a question."""


def questions_of(old: Path, new: Path) -> list[Question]:
    """Return the questions about access that a comparison prints, with the lines that they name."""
    text = CliRunner().invoke(verify.app, [str(old), str(new)]).stdout
    found = re.findall(r"^  (C17|C22) \S+  (conf/\S+(?:(?:, | and )conf/\S+)*)  (.*)", text, re.MULTILINE)
    return [
        (rule, tuple(map(int, re.findall(r":(\d+)", places))), question) for rule, places, question in found
    ]


def open_differences(old: Path, new: Path) -> int:
    """Return the number of differences of access that no comment decides."""
    done = CliRunner().invoke(verify.app, ["--format", "json", str(old), str(new)])
    groups = json.loads(done.stdout)["differences"]
    return sum(one["kind"] == "access" and not one["decided"] for one in groups)


def test_the_comments_at_the_named_lines_answer_each_question_alone(tmp_path: Path) -> None:
    """The directory of the main server has no <Files> of the virtual host around it, so no text is found that
    answers both as 2.2 does: 2.2 asks the addresses of <Files> in the place of those of a directory, and the
    Require line of the directory beside them.
    """
    old = tmp_path / "old"
    (old / "conf").mkdir(parents=True)
    (old / "conf/users").write_text("robin:$apr1$a$0000000000000000000000\n")
    for name in ("www/staging", "admin/setup"):
        (old / name).mkdir(parents=True)
    (old / "www/login.php").touch()
    (old / "conf/httpd.conf").write_text(CONF.format(root=old))
    new = tmp_path / "new"
    CliRunner().invoke(upgrade.app, ["--out", str(new), str(old)])
    main = new / "conf/httpd.conf"
    asked = questions_of(old, new)
    differences = open_differences(old, new)
    assert asked and differences >= len(asked)
    while asked:
        rule, numbers, question = asked.pop(0)
        assert "May 2.4 answer so: GET http://" in question and " -> " in question
        lines = main.read_text().split("\n")
        for number in sorted(numbers, reverse=True):
            lines.insert(number - 1, f"# whimbrel: ignore[{rule}]")
        main.write_text("\n".join(lines))
        left = questions_of(old, new)
        assert [(one[0], one[2]) for one in left] == [(one[0], one[2]) for one in asked], question
        asked = left
        before, differences = differences, open_differences(old, new)
        assert differences < before, question
    assert not differences
