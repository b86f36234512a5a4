"""Differences that a person has decided about: a comment in the new text names the rule that reports them.

A comment without rules, or with other rules, decides nothing here: a comparison must not pass over what its
author may not have meant. Each line of the new text that causes the difference needs such a comment.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from whimbrel.base.lazy_re import compile
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.verify.answer import DECIDES, DecidingLine
from whimbrel.verify.verification import DifferenceGroup, VerifyResult, is_of_access

_REPORTED: Final = compile(r"\(([A-Z]\d{2})\)$")
"""The rule that the reason of a difference names."""
Recorded = dict[tuple[str, int], list[Finding]]


def mark_decided(result: VerifyResult, recorded: Iterable[Finding]) -> None:
    """Note in the differences of *result* which comments decide them; *recorded* are the findings about the
    new text that a comment with their rule exempts.
    """
    by_place: Recorded = {}
    for finding in recorded:
        by_place.setdefault((finding.place.path, finding.place.line), []).append(finding)
    for group in result.groups if by_place else ():
        if not group.rule and group.kind != "httpd":
            group.decided = _decisions(group, by_place)


def _decisions(group: DifferenceGroup, recorded: Recorded) -> tuple[str, ...]:
    """Return ``RULE at FILE:LINE`` for each comment; nothing unless all lines of the cause have one."""
    lines = _lines(group)
    found = [_reporting(group, recorded.get((line.path, line.line), [])) for line in lines]
    if not all(found):
        return ()
    rules = {one.rule: f"{one.rule} at {one.place.path}:{one.place.line}" for row in found for one in row}
    return tuple(rules.values())


def _lines(group: DifferenceGroup) -> tuple[DecidingLine, ...]:
    """Return the lines of the new text that need a comment: those that decide, else all of the cause."""
    lines = (*group.joint_cause.new, *group.lines[1])
    return tuple(line for line in lines if line.role == DECIDES) or lines


def _reporting(group: DifferenceGroup, findings: list[Finding]) -> list[Finding]:
    """Return those of *findings* that report what *group* changes: the rule that its reason names; of access,
    for each direction one with this risk.
    """
    named = _REPORTED.search(group.reason)
    if named is not None:
        return [one for one in findings if one.rule == named[1]]
    if not is_of_access(group):
        return findings
    wanted = [Risk.OPENS] * group.opens + [Risk.CLOSES] * group.closes
    by_risk = [[one for one in findings if one.risk is risk] for risk in wanted]
    return [one for row in by_risk for one in row] if by_risk and all(by_risk) else []
