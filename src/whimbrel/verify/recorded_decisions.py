"""Differences that a person has decided about: a comment in the text names the rule that reports them, or
DIFF.

A comment without rules, or with other rules, decides nothing here: a comparison must not pass over what its
author may not have meant. Each line that causes the difference needs such a comment. DIFF, which says that
other answers are wanted, decides about no client who gains access. A comment with a rule about access that
finds nothing at its line decides about clients who lose access, and about nothing else.

A DIFF decides as well about what is not known of its line: the person has looked at it. Of a line that only
the other text has it stands at the lines, or above the section, that have its place.

Of a difference without lines the main file names the requests (see named_requests.py).

Where the versions differ whatever the text is, no line causes that, and a comment anywhere in the text that
names the rule decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from whimbrel.base.dialect import V22, V24
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.upgrade.knowledge.scope import KnowledgeScope, UnknownItem, UnknownKind
from whimbrel.upgrade.model import ACCESS_RULES, DIFFERENCE, Finding, Risk
from whimbrel.upgrade.source.suppressions import OF_COMMENT
from whimbrel.verify.answer import DECIDES, DecidingLine
from whimbrel.verify.named_requests import decided_requests
from whimbrel.verify.verification import DifferenceGroup, VerifyResult, is_of_access, rule_of_reason

Recorded = dict[tuple[str, int], list[Finding]]
_OF_LINES: Final = ACCESS_RULES | {DIFFERENCE}
"""What a comment alone decides about its line."""


def decided_by_comments(recorded: Iterable[Finding], named: Iterable[str] = ()) -> tuple[Finding, ...]:
    """Return what comments decide beside the differences, whose comments are *named*: the first finding of
    each rule and file, refusals and openings before others.
    """
    known = {text.rpartition(":")[0] for text in named}
    first: dict[tuple[str, str], Finding] = {}
    for finding in sorted(recorded, key=lambda one: (one.place.path, one.place.line)):
        is_known = _at(finding).rpartition(":")[0] in known
        if finding.rule != DIFFERENCE and finding.message != OF_COMMENT and not is_known:
            first.setdefault((finding.rule, finding.place.path), finding)
    order = [Risk.CLOSES, Risk.OPENS]
    return tuple(sorted(first.values(), key=lambda one: (one.risk not in order, one.rule, one.place.path)))


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
        group.joint_cause.new and not group.opens and can_be_decided(group)
        for group in result.causes_to_review
    )


def can_be_decided(group: DifferenceGroup) -> bool:
    """Return True unless no comment decides: about a real server, and about access of unknown effect."""
    is_known = bool(group.opens or group.closes) or not is_of_access(group)
    return is_known and not group.rule and group.kind != "httpd"


def mark_decided(result: VerifyResult, recorded: Iterable[Finding], *, side: int = 1) -> None:
    """Note in the differences of *result* which comments decide them; *recorded* are the findings about the
    text of *side* (1: the new one) that a comment with their rule exempts.
    """
    found = list(recorded)
    places = by_place(one for one in found if one.message != OF_COMMENT or one.rule in _OF_LINES)
    _decide_facts(result, places, side)
    for group in filter(can_be_decided, result.groups if found else ()):
        if group.comments(side):
            group.decided = decided_requests(group.requests, found)
            continue
        if is_without_lines(group, side):
            group.decided = by_rule(rule_of_reason(group.reason), found)
            continue
        lines = [(line.path, line.line) for line in lines_to_mark(group, side)]
        wanted = [Risk.OPENS] * group.opens + [Risk.CLOSES] * group.closes
        group.decided = decisions(lines, group.reason, wanted, places)
        if side and not (group.decided or group.rule or wanted):
            result.scope = result.scope.with_items(_without_journal(lines, places))
    named = [*(comment for group in result.groups for comment in group.decided), *result.decided_facts]
    result.by_comments = decided_by_comments(found, named)


def _without_journal(lines: Iterable[tuple[str, int]], places: Recorded) -> Iterator[UnknownItem]:
    """Yield the comments at *lines* with a rule about access that no journal explains, of a difference that
    they would decide if they answered a question of an upgrade.
    """
    for line in lines:
        for one in places.get(line, ()):
            if one.rule in ACCESS_RULES and one.message == OF_COMMENT:
                yield UnknownItem(
                    UnknownKind.NOT_READ,
                    one.place,
                    f"ignore[{one.rule}]: what was asked: no journal here is of an upgrade of this text",
                    "so the comment decides about clients who lose access, and about nothing else",
                    "compare as the user and on the machine of that upgrade, or write "
                    f"ignore[{one.rule},{DIFFERENCE}]",
                )


def _decide_facts(result: VerifyResult, places: Recorded, side: int) -> None:
    """Take from *result* what is not known of lines with a DIFF, and note these comments."""
    result.scope, found = decided_items(result.scope, places)
    open_facts = []
    for one in result.not_decided:
        comments = _reviewed(one.places[side], places)
        if comments:
            found += comments[:1]
        else:
            open_facts.append(one)
    result.not_decided[:] = open_facts
    result.decided_facts += tuple(found)


def decided_items(scope: KnowledgeScope, places: Recorded) -> tuple[KnowledgeScope, list[str]]:
    """Return *scope* without weight on what is not known of lines that a DIFF decides, and ``DIFF at
    FILE:LINE`` for each such fact.

    That 2.2 reads what an upgrade wrote, and lines of the replaced text, are decided by no comment.
    """
    items = []
    found = []
    for item in scope.items:
        is_open = item.matters and not item.is_old and item.kind is not UnknownKind.WRITTEN
        place = item.place
        comments = _reviewed([(place.path, place.line)], places) if is_open and place is not None else []
        found += comments[:1]
        items.append(replace(item, matters=False) if comments else item)
    return replace(scope, items=tuple(items)), found


def _reviewed(lines: Iterable[tuple[str, int]], places: Recorded) -> list[str]:
    """Return ``DIFF at FILE:LINE`` for each DIFF at one of *lines*."""
    return [_at(one) for line in lines for one in places.get(line, ()) if one.rule == DIFFERENCE]


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
    return tuple({one.rule: _at(one) for row in found for one in row}.values())


def by_rule(rule: str, recorded: Iterable[Finding]) -> tuple[str, ...]:
    """Return ``RULE at FILE:LINE`` for the first comment with *rule*, () without one."""
    return tuple(_at(one) for one in recorded if one.rule == rule)[:1]


def is_without_lines(group: DifferenceGroup, side: int = 1) -> bool:
    """Return True if no line of *side* causes a difference that a rule knows, and it is not about access."""
    return not (lines_to_mark(group, side) or is_of_access(group)) and bool(rule_of_reason(group.reason))


def _at(finding: Finding) -> str:
    return f"{finding.rule} at {finding.place.path}:{finding.place.line}"


def lines_to_mark(group: DifferenceGroup, side: int = 1) -> tuple[DecidingLine, ...]:
    """Return the lines of the text that need a comment: those that decide, else all of the cause."""
    cause = group.joint_cause
    lines = (*(cause.old, cause.new)[side], *group.lines[side])
    return tuple(line for line in lines if line.role == DECIDES) or lines


def _reporting(reason: str, wanted: Sequence[Risk], findings: list[Finding]) -> list[Finding]:
    """Return those of *findings* that report the change."""
    reviewed = [] if Risk.OPENS in wanted else [one for one in findings if one.rule == DIFFERENCE]
    named = rule_of_reason(reason)
    if reviewed or not wanted:
        found = (one for one in findings if one.message != OF_COMMENT)
        return reviewed or [one for one in found if named in ("", one.rule)]
    if named:
        return [one for one in findings if one.rule == named]
    by_risk = [[one for one in findings if one.risk is risk] for risk in wanted]
    return [one for row in by_risk for one in row] if all(by_risk) else []
