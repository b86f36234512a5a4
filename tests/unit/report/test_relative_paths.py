"""Places of a text are paths below one directory, which a line names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from whimbrel.cli import replay, verify
from whimbrel.report.page.model import Badge, CodeLine, FindingGroup, ReportPage, ShownFinding
from whimbrel.report.relative_paths import (
    old_directory,
    page_with_relative_places,
    with_relative_places,
)

TEXT = """old and new: different
ready for 2.4: no: 1 cause (/etc/httpd/conf/a.conf:3)
    /etc/httpd/conf/a.conf:3: Require ip 10.1
    /srv/www/.htaccess:1: Deny from all
    /etc/httpd/conf has no number
First: look at /etc/httpd/conf/a.conf:3: whimbrel explain /etc/httpd/conf/a.conf:3
Next: whimbrel explain /etc/httpd/conf/a.conf:3
"""


def test_places_lose_the_directory_and_commands_keep_it() -> None:
    assert with_relative_places(TEXT, "/etc/httpd") == (
        "old and new: different\n"
        "ready for 2.4: no: 1 cause (conf/a.conf:3)\n"
        "files: below /etc/httpd\n"
        "    conf/a.conf:3: Require ip 10.1\n"
        "    /srv/www/.htaccess:1: Deny from all\n"
        "    /etc/httpd/conf has no number\n"
        "First: look at conf/a.conf:3: whimbrel explain /etc/httpd/conf/a.conf:3\n"
        "Next: whimbrel explain /etc/httpd/conf/a.conf:3\n"
    )


def test_the_verdict_stays_the_first_line() -> None:
    text = "same\n  /a/b:1: x\n1\n2\nready for 2.4: yes\n"
    assert with_relative_places(text, "/a") == "same\nfiles: below /a\n  b:1: x\n1\n2\nready for 2.4: yes\n"


def test_a_text_without_places_is_the_same() -> None:
    assert with_relative_places("/other/b:1: x\n", "/a") == "/other/b:1: x\n"
    assert with_relative_places(TEXT, "") == TEXT


def test_the_old_side_has_its_directory_named_once() -> None:
    text = (
        "different\n  /old/conf/a:1: Deny\n  /new/conf/a:2: Require\nNext: whimbrel explain /new/conf/a:2\n"
    )
    assert with_relative_places(text, "/new", "/old") == (
        "different\nfiles: below /new; of the old text: below /old\n"
        "  conf/a:1: Deny\n  conf/a:2: Require\nNext: whimbrel explain /new/conf/a:2\n"
    )
    assert old_directory("/m/old/etc/httpd", "/m/new/etc/httpd", "/m/new") == "/m/old", "images of machines"
    assert old_directory("/etc/httpd", "/tmp/new", "") == "/etc/httpd"
    assert old_directory("/etc/httpd", "/etc/httpd", "") == "", "both sides are one"


def test_a_page_has_the_places_of_a_text() -> None:
    line = CodeLine((("/new/conf/a", False),), sign="@")
    finding = ShownFinding("f1", "C17", "", "/old/conf/a:3", "opens", "", "at /new/conf/a:2", code=(line,))
    page = ReportPage(
        "verify",
        "t",
        Badge("w", "opens"),
        "s",
        groups=(FindingGroup("g", "/new/conf/a", (finding,)),),
        next_command="whimbrel check /new",
    )
    changed = page_with_relative_places(page, "/new", "/old")
    assert changed.facts == ("files: below /new; of the old text: below /old",)
    (group,) = changed.groups
    (item,) = group.items
    assert (group.title, item.place, item.message) == ("conf/a", "conf/a:3", "at conf/a:2")
    assert item.code[0].pieces == (("conf/a", False),)
    assert changed.next_command == "whimbrel check /new", "commands stay as they are"
    assert page_with_relative_places(page, "/other") is page


@pytest.mark.parametrize("has_documents", [True, False])
def test_the_places_of_a_machine_have_one_base(tmp_path: Path, *, has_documents: bool) -> None:
    """Findings and differences of a copied machine name the same line by the same path."""
    for name, allowed in (("old", "Order allow,deny\nAllow from all\n"), ("new", "Require all granted\n")):
        conf = tmp_path / name / "etc/apache2"
        (conf / "sites-enabled").mkdir(parents=True)
        (tmp_path / name / "var/www/a").mkdir(parents=True)
        if has_documents:
            (tmp_path / name / "var/www/a/index.html").touch()
        modules = ("authz_core", "mpm_event") if name == "new" else ("authz_host",)
        loads = "".join(f"LoadModule {one}_module modules/mod_{one}.so\n" for one in modules)
        (conf / "apache2.conf").write_text(
            "ServerRoot /etc/apache2\nListen 80\nLoadModule rewrite_module modules/mod_rewrite.so\n"
            f"{loads}Include sites-enabled/\n"
        )
        (conf / "sites-enabled/a").write_text(
            "<VirtualHost *:80>\nServerName a.example\nDocumentRoot /var/www/a\nRewriteEngine On\n"
            "RewriteRule ^/go/(.*)$ http://b.example/$1 [R=301,L]\n"
            f"<Directory /var/www/a>\n{allowed}</Directory>\n</VirtualHost>\n"
        )
    log = tmp_path / "log"
    time = "[12/Sep/2012:10:00:04 +0200]"
    log.write_text(f'a.example:80 10.0.0.1 - - {time} "GET /go/x%3fx HTTP/1.1" 301 3 "-" "x"\n')
    sides = [f"{tmp_path}/{name}/etc/apache2" for name in ("old", "new")]
    compared = CliRunner().invoke(verify.app, sides).stdout
    words = [str(log), "-j", "1", "--old", sides[0], "--new", sides[1]]
    replayed = CliRunner().invoke(replay.app, words).stdout
    for text in (compared, replayed):
        places = re.findall(r"([^\s(]*)sites-enabled/a:5", text)
        assert len(places) > 1 and len(set(places)) == 1, text
        assert f"files: below {tmp_path}/new" in text
