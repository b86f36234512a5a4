"""Differences that a person has decided about: a comment in the text names the rule that reports them, or
DIFF.

A comment without rules, or with other rules, decides nothing here: a comparison must not pass over what its
author may not have meant. Each line that causes the difference needs such a comment. DIFF, which says that
other answers are wanted, decides about no client who gains access.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from whimbrel.base.dialect import V22, V24
from whimbrel.upgrade.model import DIFFERENCE, Finding, Risk
from whimbrel.verify.answer import DECIDES, DecidingLine
from whimbrel.verify.verification import DifferenceGroup, VerifyResult, is_of_access, rule_of_reason

Recorded = dict[tuple[str, int], list[Finding]]


def by_place(recorded: Iterable[Finding]) -> Recorded:
    """Return the findings about a new text that a comment with their rule exempts by file and line."""
    found: Recorded = {}
    for finding in recorded:
        found.setdefault((finding.place.path, finding.place.line), []).append(finding)
    return found


def has_recordable_decisions(result: VerifyResult) -> bool:
    """Return True if a comment DIFF can decide about a difference of *result*: comments do so in an upgraded
    text.
    """
    return result.dialects == (V22.name, V24.name) and any(
        group.joint_cause.new and not group.opens and _can_be_decided(group)
        for group in result.causes_to_review
    )


def _can_be_decided(group: DifferenceGroup) -> bool:
    """Return True unless no comment decides: about a real server, and about access of unknown effect."""
    is_known = bool(group.opens or group.closes) or not is_of_access(group)
    return is_known and not group.rule and group.kind != "httpd"


def mark_decided(result: VerifyResult, recorded: Iterable[Finding], *, side: int = 1) -> None:
    """Note in the differences of *result* which comments decide them; *recorded* are the findings about the
    text of *side* (1: the new one) that a comment with their rule exempts.
    """
    places = by_place(recorded)
    for group in result.groups if places else ():
        if _can_be_decided(group):
            lines = [(line.path, line.line) for line in _lines(group, side)]
            wanted = [Risk.OPENS] * group.opens + [Risk.CLOSES] * group.closes
            group.decided = decisions(lines, group.reason, wanted, places)


def decisions(
    lines: Iterable[tuple[str, int]], reason: str, wanted: Sequence[Risk], recorded: Recorded
) -> tuple[str, ...]:
    """Return ``RULE at FILE:LINE`` for each comment that decides about a change; nothing unless all *lines*
    that cause it have one.

    *reason*: what is known of the change; the rule that it names is the one that counts. *wanted*: what the
    change does to access; for each direction a rule with this risk counts.
    """
    found = [_reporting(reason, wanted, recorded.get(line, [])) for line in lines]
    if not all(found):
        return ()
    rules = {one.rule: f"{one.rule} at {one.place.path}:{one.place.line}" for row in found for one in row}
    return tuple(rules.values())


def _lines(group: DifferenceGroup, side: int) -> tuple[DecidingLine, ...]:
    """Return the lines of the text that need a comment: those that decide, else all of the cause."""
    cause = group.joint_cause
    lines = (*(cause.old, cause.new)[side], *group.lines[side])
    return tuple(line for line in lines if line.role == DECIDES) or lines


def _reporting(reason: str, wanted: Sequence[Risk], findings: list[Finding]) -> list[Finding]:
    """Return those of *findings* that report the change."""
    reviewed = [] if Risk.OPENS in wanted else [one for one in findings if one.rule == DIFFERENCE]
    named = rule_of_reason(reason)
    if reviewed or not wanted:
        return reviewed or [one for one in findings if named in ("", one.rule)]
    if named:
        return [one for one in findings if one.rule == named]
    by_risk = [[one for one in findings if one.risk is risk] for risk in wanted]
    return [one for row in by_risk for one in row] if all(by_risk) else []
