"""Responses that differ in their fields or bodies alone."""

from __future__ import annotations

import os
from pathlib import Path

from tests.unit.explain.explained_site import CONF, side_of, write_site
from typer.testing import CliRunner

from whimbrel.cli import explain
from whimbrel.explain.response_differences import part_texts, response_differences
from whimbrel.verify.difference import FieldDifference
from whimbrel.verify.probe import Probe

DEFLATE = """LoadModule filter_module modules/mod_filter.so
LoadModule deflate_module modules/mod_deflate.so
AddOutputFilterByType DEFLATE text/html
"""
GZIP = ("Accept-Encoding", "gzip")


def test_the_fields_of_a_filter_differ(tmp_path: Path) -> None:
    """apache2 sends Vary also to a client that takes no encoding."""
    old = side_of(tmp_path, CONF)
    write_site(tmp_path, CONF + DEFLATE)
    (tmp_path / "htdocs/index.html").write_text("hello\n" * 100)
    new = side_of(tmp_path, CONF + DEFLATE)
    (tmp_path / "htdocs/index.html").write_text("hello\n" * 100)
    parts = response_differences(old, new, Probe("/index.html", host="q", fields=(GZIP,)))
    assert {"content-encoding", "vary", "body"} <= {part.name for part in parts}
    plain = response_differences(old, new, Probe("/index.html", host="q"))
    assert plain == (FieldDifference("vary", "", "accept-encoding"),)


def test_another_status_is_no_difference_of_fields(tmp_path: Path) -> None:
    old = side_of(tmp_path, CONF)
    new = side_of(tmp_path, CONF + "Redirect gone /index.html\n")
    assert response_differences(old, new, Probe("/index.html", host="q")) == ()


def test_texts() -> None:
    assert part_texts(FieldDifference("vary", "Accept", "")) == ("vary: Accept", "no vary")
    assert part_texts(FieldDifference("body", "4 bytes ab", "9 bytes cd")) == (
        "body: 4 bytes",
        "body: 9 bytes",
    )
    assert (
        part_texts(FieldDifference("body", "4 bytes ab", "4 bytes cd"))[1] == "body: 4 bytes, other content"
    )


def test_the_command_does_not_call_them_the_same(tmp_path: Path) -> None:
    """Also with a path of --diff that is relative to -d, as that of -f is."""
    write_site(tmp_path, CONF)
    write_site(tmp_path, CONF + "Header set X-Other yes\nHeader unset X-Site\n", "other.conf")
    words = ("/index.html", "--host", "q", "-d", str(tmp_path), "-f", "httpd.conf", "--diff", "other.conf")
    found = CliRunner().invoke(explain.app, [*words])
    assert found.exit_code == 1
    assert not found.stdout.startswith("same answer")
    assert "- x-other: yes\n+ no x-other\n" in found.stdout


def test_a_moment_is_no_difference(tmp_path: Path) -> None:
    """Expires of both sides counts from the same request."""
    expires = "LoadModule expires_module modules/mod_expires.so\nExpiresActive On\nExpiresDefault A{}\n"
    old = side_of(tmp_path, CONF + expires.format(60))
    new = side_of(tmp_path, CONF + expires.format(60))
    old.runtime.time, new.runtime.time = 1_700_000_000.0, 1_700_000_001.0
    assert response_differences(old, new, Probe("/index.html", host="q")) == ()
    later = side_of(tmp_path, CONF + expires.format(90))
    names = {part.name for part in response_differences(old, later, Probe("/index.html", host="q"))}
    assert names == {"cache-control", "expires"}


def test_a_line_that_sets_nothing_here_is_no_difference(tmp_path: Path) -> None:
    """The condition of Header (mod_headers: expr=) does not hold for a response with a type."""
    line = 'Header set Content-Type "text/plain" "expr=-z %{CONTENT_TYPE}"\n'
    roots = []
    for name, more in (("old", ""), ("new", line)):
        (tmp_path / name).mkdir()
        roots.append(write_site(tmp_path / name, CONF + more))
        (tmp_path / name / "htdocs/x.html").write_text("x\n")
        os.utime(tmp_path / name / "htdocs/x.html", (1_700_000_000, 1_700_000_000))
    words = ["http://q.example/x.html", "-f", str(roots[1]), "--diff", f"{roots[0]}@2.4"]
    found = CliRunner().invoke(explain.app, words)
    assert "no such line" not in found.stdout
    assert found.stdout.startswith("same answer: 200 OK"), found.stdout


def test_a_refusal_has_a_type_that_no_line_sets(tmp_path: Path) -> None:
    """apache2 sends 403 with text/html; charset=iso-8859-1, so it does not lose the type of the document."""
    roots = []
    for name, more in (("old", ""), ("new", "<Location /x.html>\nRequire all denied\n</Location>\n")):
        (tmp_path / name).mkdir()
        roots.append(write_site(tmp_path / name, CONF + more))
        (tmp_path / name / "htdocs/x.html").write_text("x\n")
    words = ["http://q.example/x.html", "-f", str(roots[1]), "--diff", f"{roots[0]}@2.4"]
    found = CliRunner().invoke(explain.app, words)
    assert "403 Forbidden" in found.stdout
    assert "no Content-Type" not in found.stdout
