"""Findings about access whose lines a comment exempts are said, and asked no second time."""

from __future__ import annotations

from pathlib import Path

from tests.unit.upgrade.access_texts import MODULES, USER
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.report.decisions import access_line
from whimbrel.report.model import ReportEntry
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rules import rules_of
from whimbrel.verify.answer import Answer, DecidingLine
from whimbrel.verify.causes import Cause
from whimbrel.verify.difference import Difference, FieldDifference
from whimbrel.verify.probe import Probe
from whimbrel.verify.upgraded import has_finding, places_of_access
from whimbrel.verify.verification import DifferenceGroup, Example

GUARD = '<Files ~ "^\\.ht">\nOrder allow,deny\nDeny from all\nSatisfy all\n</Files>\n'
STATUS = "<Location /server-status>\nOrder deny,allow\nDeny from all\nAllow from 127.0.0.1\n</Location>\n"
HOST = f"""<VirtualHost *:80>
ServerName x.example
DocumentRoot ROOT/htdocs
<Directory ROOT/htdocs>
AllowOverride AuthConfig
{USER}Require valid-user
Order deny,allow
Deny from all
Allow from 192.168.
Satisfy any
</Directory>
</VirtualHost>
"""


def exempted(root: Path, comment: str) -> tuple[list[Finding], list[Finding]]:
    """The findings with a question about access, and those that the comment exempts."""
    text = f"{MODULES}{GUARD}{comment}{STATUS}{HOST}"
    files: dict[str, str | bytes] = {"conf/httpd.conf": text, "htdocs/.htaccess": "Require user a\n"}
    result = upgrade(config_tree(root, files), rules_of("access"))
    return [one for one in result.findings if one.decision.startswith("May 2.4")], list(result.exempted)


def test_what_a_comment_exempts_is_kept_apart(tmp_path: Path) -> None:
    (asked,), nothing = exempted(tmp_path / "a", "")
    assert nothing == [] and asked.risk is Risk.CLOSES
    questions, (left_out,) = exempted(tmp_path / "b", f"# whimbrel: ignore[{asked.rule}]\n")
    assert questions == []
    assert (left_out.rule, left_out.risk, left_out.place.line) == (
        asked.rule,
        asked.risk,
        asked.place.line + 1,
    )


def test_the_line_about_access_names_what_a_comment_exempts() -> None:
    left_out = ReportEntry("C23", "a.conf", 1, "", risk=Risk.CLOSES, evidence="/x: 200, then 401")
    opening = ReportEntry("R12", "b.conf", 2, "", risk=Risk.OPENS)
    left = "left out by a comment: C23 require-forms closes it at a.conf:1: /x: 200, then 401"
    assert access_line([], [left_out]) == f"access: no other finding opens or closes it; {left}"
    assert access_line([opening], [left_out]) == f"access: R12 php-handlers opens it at b.conf:2; {left}"
    assert access_line([]) == "access: no finding opens or closes it"


def test_a_differenceis_asked_where_2_4_decides(tmp_path: Path) -> None:
    """The line of 2.4 that decides is not changed, and the finding is about it; a line that only applies, or
    a text that was changed, is no such place."""
    (asked,), _ = exempted(tmp_path, "")
    places = places_of_access([asked])
    path, number = asked.place.path, asked.place.line

    difference = Difference((FieldDifference("status", "200", "401"),))
    example = Example(Probe("/"), difference, Answer(200), Answer(401))

    def is_asked_about(role: str, line: int, changed: tuple[str, ...] = ()) -> bool:
        cause = Cause((), (DecidingLine(path, line, "Require user a", role),))
        return has_finding(DifferenceGroup("access", cause, [example], 1), places, {}, changed)

    assert is_asked_about("decides", number)
    assert not is_asked_about("access", number)
    assert not is_asked_about("decides", number + 1)
    assert not is_asked_about("decides", number, (path,))
