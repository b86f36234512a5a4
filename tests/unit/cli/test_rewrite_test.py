"""whimbrel rewrite-test: findings and exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from whimbrel.cli.rewrite_test import app

RULES = """RewriteEngine On
RewriteRule ^old/(.*)$ /new/$1 [R=301,L]
RewriteRule ^old/x$ /elsewhere [R=301,L]
RewriteCond %{HTTP:Accept} json
RewriteRule ^data$ http://h.test/data.json [R=303,L]
RewriteRule ^loop(.*)$ loop$1x
Redirect 410 /gone
"""


def run(folder: Path, table: str, *flags: str, rules: str = RULES) -> tuple[int, list[str]]:
    (folder / ".htaccess").write_text(rules)
    (folder / "table").write_text(table)
    result = CliRunner().invoke(app, [*flags, str(folder / ".htaccess"), str(folder / "table")])
    return result.exit_code, result.output.splitlines()


def test_everything_as_expected(tmp_path: Path) -> None:
    table = "/old/a 301 /new/a\n/data [Accept: text/json] 303 http://h.test/data.json\n/gone 410\n"
    assert run(tmp_path, table) == (
        0,
        [".htaccess:3: never used", ".htaccess:6: never used", "3 cases, 3 as expected, 0 different"],
    )


def test_differences_overlaps_and_loops(tmp_path: Path) -> None:
    status, lines = run(tmp_path, "/old/x 302 /elsewhere\n/data 303\n/loop 200\n")
    assert status == 1
    assert (
        lines[0]
        == "line 1: /old/x: status 301, expected 302; goes to http://localhost/new/x, expected /elsewhere"
    )
    assert lines[1] == "line 2: /data: status 404, expected 303"
    assert (
        lines[2]
        == "line 3: /loop: status 500, expected 200; loops: it exceeds the limit of internal redirects"
    )
    assert lines[3] == ".htaccess:3: also fits URLs that .htaccess:2 takes first"
    assert lines[-1] == "3 cases, 0 as expected, 3 different"


def test_the_way_through_the_rules(tmp_path: Path) -> None:
    _status, lines = run(tmp_path, "/data 303\n", "-v")
    assert "    condition '' json: fails" in lines
    assert "    .htaccess:5: '^data$' fits 'data', not applied" in lines


def test_a_folder_of_its_own(tmp_path: Path) -> None:
    assert run(tmp_path, "/p/q/old/a 301 /new/a\n", "--at", "/p/q/")[0] == 0


def test_unreadable_input(tmp_path: Path) -> None:
    assert run(tmp_path, "/a moved /b\n") == (2, ["line 1: expected PATH STATUS [TARGET]"])
    status, lines = run(tmp_path, "/a 200\n", "--dialect", "3.0")
    assert status == 2
    assert any("dialect" in line for line in lines)


def test_conditions_see_the_files_beside_the_rules(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("page\n")
    rules = "RewriteEngine On\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule ^ /start [R=302,L]\n"
    table = "/page.html 200\n/none 302 /start\n"
    assert run(tmp_path, table, rules=rules) == (0, ["2 cases, 2 as expected, 0 different"])
    under = "/shop/page.html 200\n/shop/none 302 /start\n"
    assert run(tmp_path, under, "--at", "/shop/", rules=rules)[0] == 0


HOSTS = """ServerRoot "{root}"
Listen 127.0.0.1:8080
ServerName main.test
TypesConfig mime.types
LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule unixd_module modules/mod_unixd.so
LoadModule authz_core_module modules/mod_authz_core.so
LoadModule alias_module modules/mod_alias.so
LoadModule dir_module modules/mod_dir.so
LoadModule mime_module modules/mod_mime.so
<Directory />
    Require all denied
</Directory>
<VirtualHost *:8080>
    ServerName a.test
    Redirect permanent /old http://a.test:8080/new
</VirtualHost>
<VirtualHost *:8080>
    ServerName b.test
    Redirect gone /old
</VirtualHost>
"""
"""The main server gets no request: virtual hosts get all of port 8080, the first one those of other names."""


@pytest.mark.parametrize("is_directory", [False, True])
def test_requests_go_to_the_virtual_host_of_their_address_and_name(
    tmp_path: Path, is_directory: bool
) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "mime.types").write_text("text/html html\n")
    (tmp_path / "conf/httpd.conf").write_text(HOSTS.format(root=tmp_path))
    (tmp_path / "table").write_text(
        "/old/x 301 /new/x\n"
        "http://a.test:8080/old/x 301 http://a.test:8080/new/x\n"
        "http://b.test:8080/old 410\n"
        "http://b.test/old 410\n"  # nothing listens to port 80
        "/old [Host: b.test] 410\n"
        "/x 403\n"
    )
    conf = tmp_path if is_directory else tmp_path / "conf/httpd.conf"
    words = [str(conf), str(tmp_path / "table"), *(() if is_directory else ("-d", str(tmp_path)))]
    expected = ["line 1: /old/x: goes to http://a.test:8080/new/x, expected /new/x"]
    found = CliRunner().invoke(app, words)
    assert found.output.splitlines()[:-1] == expected, found.output
    found = CliRunner().invoke(app, [*words, "--host", "b.test"])
    assert found.output.splitlines()[:-1] == [
        "line 1: /old/x: status 410, expected 301; goes to nowhere, expected /new/x"
    ]
    (tmp_path / "table").write_text("http://b.test/old 301\n")
    found = CliRunner().invoke(app, [*words, "-v"])
    assert "Redirect gone /old" in found.output and "httpd.conf:20" in found.output
