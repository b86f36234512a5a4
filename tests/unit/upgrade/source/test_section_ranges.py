"""The lines of sections, found in the text."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from whimbrel.base.errors import SourceLocation
from whimbrel.cli import check, upgrade
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.source.section_ranges import at_each_line, section_around

LINES = [b"A", b"<X>", b"B", b"<Y>", b"C", b"</Y>", b"D", b"</X>", b"E", b"<Z>", b"F"]


@pytest.mark.parametrize(
    ("number", "first", "last"),
    [
        (1, 1, 1),
        (2, 2, 8),
        (3, 2, 8),
        (4, 4, 6),
        (5, 4, 6),
        (6, 4, 6),
        (7, 2, 8),
        (8, 2, 8),
        (9, 9, 9),
        (11, 11, 11),
    ],
)
def test_the_innermost_section_is_found(number: int, first: int, last: int) -> None:
    """A section that nothing closes has no known end."""
    assert section_around(LINES, number) == range(first, last + 1)


def test_a_finding_of_a_section_is_at_its_lines() -> None:
    """Not who gains access, nor what is said of a host: more lines decide there than the finding is about."""
    lines = [b"<VirtualHost *>", b'<Location "/">', b"Allow from all", b"</Location>", b"</VirtualHost>"]

    def places(line: int, risk: Risk = Risk.CLOSES) -> list[int]:
        found = at_each_line(Finding("C17", SourceLocation("a", line), "m", risk=risk), lines)
        return [one.place.line for one in found]

    assert places(2) == [2, 3, 4]
    assert places(3) == [3]
    assert places(2, Risk.OPENS) == [2]
    assert places(1) == [1]


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
    assert "C17 order-allow-deny .htaccess:1: 2.4 answers requests below its directory with 500" in output
    assert "does not start" not in output
