"""The lines that a comment decides about after an upgrade, found in the text: `upgrade` offers
the comment for them.
"""

from __future__ import annotations

import pytest

from whimbrel.upgrade.apply.left_decisions import FoundDecision, LeftDecision, findings_left
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.verify.answer import DECIDES, DecidingLine
from whimbrel.verify.recorded_decisions import by_place, decisions

MAIN = "/nowhere/httpd.conf"
COMMENT = "# whimbrel: ignore[C17]"
TEXT = """\
<Files .ht>
Require all denied
</Files>
<Directory /a>
Order deny,allow
<LimitExcept GET>
Require all denied
</LimitExcept>
</Directory>
<Location />
Allow from all
</Location>"""


def left(line: int, section: str, about: tuple[str, ...], risk: Risk = Risk.CLOSES) -> LeftDecision:
    return LeftDecision(
        "C17", MAIN, line, "m", "a", risk.value, "May it?", (), about, (), is_written=True, section=section
    )


def found(text: str, one: LeftDecision) -> FoundDecision:
    (result,) = findings_left([one], [MAIN], lambda _path: text.encode())
    return result


def decided(findings: tuple[Finding, ...], *lines: int, wanted: Risk = Risk.CLOSES) -> bool:
    deciding = [DecidingLine(MAIN, line, "", DECIDES) for line in lines]
    places = [(one.path, one.line) for one in deciding]
    return bool(decisions(places, "", [wanted], by_place(findings)))


def test_a_comment_decides_about_the_lines_written_in_its_section() -> None:
    one = left(4, "<Directory /a>", ("Order deny,allow", "Require all denied"))
    assert not found(TEXT, one).is_exempt
    result = found(TEXT.replace("Order", f"{COMMENT}\nOrder"), one)
    assert result.is_exempt
    assert decided(result.covered, 6) and decided(result.covered, 8) and decided(result.covered, 6, 8)
    assert not decided(result.covered, 2)  # the same words in another section
    assert not decided(result.covered, 8, 12)
    assert not decided(result.covered, 8, wanted=Risk.OPENS)


def test_equal_lines_of_another_section_record_nothing() -> None:
    one = left(4, "<Directory /a>", ("Require all denied",))
    assert not found(TEXT.replace("Require", f"{COMMENT}\nRequire", 1), one).is_exempt


def test_a_comment_above_a_section_decides_about_its_lines() -> None:
    one = left(10, "<Location />", ("<Location />",))._replace(is_written=False)
    result = found(TEXT.replace("<Location", f"{COMMENT}\n<Location"), one)
    assert decided(result.covered, 12)
    assert not decided(result.covered, 2) and not decided(result.covered, 8)


def test_a_comment_without_a_rule_decides_nothing() -> None:
    one = left(1, "<Files .ht>", ("Require all denied",))
    result = found(TEXT.replace("Require", "# whimbrel: ignore\nRequire", 1), one)
    assert result.is_exempt and not result.covered


@pytest.mark.parametrize("is_written", [True, False])
def test_lines_that_upgrade_wrote_stop_no_start(is_written: bool) -> None:
    """`Order` without mod_access_compat ends the start of 2.4 (mod_authz_core alone reads Require): with the
    written Require line it starts.
    """
    one = left(1, "<Files .ht>", ("Require all denied",), Risk.BREAKS)._replace(is_written=is_written)
    assert (found(TEXT, one).finding.risk is Risk.BREAKS) is not is_written
