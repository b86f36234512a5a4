"""Findings about a whole .htaccess file: the line that is shown, and the comments that exempt it."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from whimbrel.cli import check, upgrade

OLD = """\
AuthType Basic
AuthName "A"
Require valid-user
Order deny,allow
Deny from all
Allow from 10.0.0.1
Satisfy any
"""
FILES = '<Files "x.tpl">\nOrder allow,deny\nAllow from all\n</Files>\n'
LIMIT = "AuthType Basic\nAuthName a\n<Limit POST>\nRequire valid-user\n</Limit>\n"


def run(app: object, root: Path, text: str) -> str:
    (root / ".htaccess").write_text(text)
    return CliRunner().invoke(app, [str(root / ".htaccess")]).output  # type: ignore[arg-type]


@pytest.mark.parametrize("line", ["Require", "Order", "Satisfy"])
def test_a_comment_above_a_line_about_access_exempts_the_file(tmp_path: Path, line: str) -> None:
    assert ".htaccess:4  C17 " in run(check.app, tmp_path, OLD)
    comment = f"# whimbrel: ignore[C17]\n{line}"
    assert "C17" not in run(check.app, tmp_path, OLD.replace(line, comment))


@pytest.mark.parametrize("comment", ["# whimbrel: ignore[X01]\nOrder deny", "# whimbrel: x\nOrder deny"])
def test_other_comments_exempt_nothing(tmp_path: Path, comment: str) -> None:
    assert ".htaccess:5  C17 " in run(check.app, tmp_path, OLD.replace("Order deny", comment))


def test_a_comment_in_a_section_is_not_about_the_file(tmp_path: Path) -> None:
    inside = FILES.replace("Order", "# whimbrel: ignore[C17]\nOrder")
    assert "  C17 " in run(check.app, tmp_path, OLD + inside)


def test_lines_of_a_method_are_shown_at_their_container(tmp_path: Path) -> None:
    output = run(check.app, tmp_path, LIMIT)
    assert ".htaccess:3  X20 " in output and "3  | <Limit POST>\n       | ^^^^^^\n" in output
    assert "X20" not in run(check.app, tmp_path, LIMIT.replace("<L", "# whimbrel: ignore[X20]\n<L"))


def test_an_htaccess_file_never_ends_the_start(tmp_path: Path) -> None:
    """httpd reads it with each request: a line that it does not know is answered with 500."""
    output = run(upgrade.app, tmp_path, FILES)
    assert "C17 .htaccess:1: 2.4 answers requests below its directory with 500 unless mod_access" in output
    assert "does not start" not in output
