"""Decisions of plans with conditional sections, over every combination of their results."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.verify.sites import make_root, side

from whimbrel.access.decision import AccessDecision
from whimbrel.verify.patterns.conditions import PatternSpace
from whimbrel.verify.plan_decisions import PlanDecisions
from whimbrel.verify.probe import Probe

GRANTED = "Require all granted\n"
DENIED = "Require all denied\n"
FIRST = "%{TIME_YEAR} -gt 3000"
SECOND = "%{TIME_YEAR} -lt 1000"


def section(kind: str, lines: str) -> str:
    name = kind.partition(" ")[0]
    return f"<{kind}>\n{lines}</{name}>\n"


IF_FIRST = f'If "{FIRST}"'
IF_SECOND = f'If "{SECOND}"'
ELSE_IF_SECOND = f'ElseIf "{SECOND}"'


def decisions(root: Path, *texts: str) -> list[AccessDecision | str]:
    """Return the decisions about / of texts of 2.4 in whose outer section all is granted."""
    make_root(root)
    space = PatternSpace()
    found = []
    for number, text in enumerate(texts):
        one = side(root, f"side{number}", section("Location /", GRANTED) + text, "2.4")
        assert one.is_loaded, one.errors
        plan = one.checked(Probe("/", host="localhost"))[1][0].plan
        assert plan is not None
        found.append(PlanDecisions(one, space).decision(plan))
    return found


@pytest.mark.parametrize(
    ("one", "other", "is_equal"),
    [
        (section(IF_FIRST, DENIED) + section("Else", GRANTED), "", False),
        (section(IF_FIRST, DENIED) + section("Else", GRANTED), section(IF_FIRST, DENIED), True),
        (section(IF_FIRST, GRANTED) + section("Else", DENIED), "", False),
        (section(IF_FIRST, GRANTED) + section("Else", DENIED), section(IF_FIRST, DENIED), False),
        (
            section(IF_FIRST, GRANTED) + section(ELSE_IF_SECOND, DENIED) + section("Else", GRANTED),
            section(IF_SECOND, DENIED) + section(IF_FIRST, GRANTED),
            True,
        ),
        (
            section(IF_FIRST, DENIED) + section(ELSE_IF_SECOND, GRANTED) + section("Else", DENIED),
            section(IF_FIRST, GRANTED) + section(ELSE_IF_SECOND, GRANTED) + section("Else", DENIED),
            False,
        ),
        (
            section(IF_FIRST, DENIED) + section("Else", GRANTED) + section(IF_SECOND, DENIED),
            section(IF_FIRST, DENIED) + section(IF_SECOND, DENIED),
            True,
        ),
    ],
)
def test_the_first_section_of_a_chain_that_applies_is_the_only_one(
    tmp_path: Path, one: str, other: str, is_equal: bool
) -> None:
    """Manual, mod_core: <ElseIf> and <Else> apply if the preceding conditions do not; each <If> begins anew,
    and later sections override earlier ones.
    """
    first, second = decisions(tmp_path, one, other)
    assert isinstance(first, AccessDecision) and isinstance(second, AccessDecision)
    assert (first.when == second.when) is is_equal


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("".join(section(f'If "{FIRST}{number}"', DENIED) for number in range(6)), "6 <If> sections apply"),
        (section(IF_FIRST, section(IF_SECOND, DENIED)), "<If> sections are nested"),
    ],
)
def test_what_is_too_much_is_not_decided(tmp_path: Path, text: str, reason: str) -> None:
    assert decisions(tmp_path, text) == [reason]
