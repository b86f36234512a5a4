"""The findings of an upgrade whose new lines decide where access differs: they have the question about that.

The other lines that apply to such a request decide nothing: a comment at one of them would record nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.upgrade.apply.left_decisions import AS_BEFORE
from whimbrel.upgrade.model import ACCESS_RULES, Finding, Risk, Safety
from whimbrel.upgrade.source.line_map import OldLines
from whimbrel.verify.answer import DECIDES, DecidingLine
from whimbrel.verify.config_lines import LineScope
from whimbrel.verify.recorded_decisions import lines_to_mark
from whimbrel.verify.verification import DifferenceGroup, access_differences, risk_of_access

FindingKey = tuple[str, str, int]
"""Rule, path and line of a finding."""


def key_of(finding: Finding) -> FindingKey:
    """Return by what a finding is known before and after its question changes."""
    return finding.rule, finding.place.path, finding.place.line


def deciding_findings(
    group: DifferenceGroup,
    findings: Sequence[Finding],
    scopes: Mapping[tuple[str, int], LineScope],
    line_maps: Mapping[str, OldLines],
) -> list[FindingKey]:
    """Return the findings about access that wrote the lines by which 2.4 decides about *group*, or are about
    the sections around them; [] unless each of these lines has one.

    *scopes* are those of the new text.
    """
    found: dict[FindingKey, None] = {}
    for line in lines_to_mark(group):
        own = _finding_of(line, findings, scopes, line_maps) if line.role == DECIDES else None
        if own is None:
            return []
        found[key_of(own)] = None
    return list(found)


def _finding_of(
    line: DecidingLine,
    findings: Iterable[Finding],
    scopes: Mapping[tuple[str, int], LineScope],
    line_maps: Mapping[str, OldLines],
) -> Finding | None:
    """Return the finding about the section around *line* of the new text, or that wrote *line* in a .htaccess
    file.
    """
    scope = scopes.get((line.path, line.line))
    if scope is None:
        return None
    of_file = [
        one for one in findings if one.rule in ACCESS_RULES and one.edits and one.place.path == line.path
    ]
    if scope.kind == "htaccess":
        return next((one for one in of_file if line.text in map(str.strip, one.new)), None)
    line_map = line_maps.get(line.path)
    old = scope.line if line_map is None else line_map.unchanged_from(scope.line)
    return next((one for one in of_file if one.place.line == old), None)


def with_questions(
    findings: Iterable[Finding], groups: Mapping[FindingKey, Sequence[DifferenceGroup]]
) -> list[Finding]:
    """Return *findings*, those of the keys of *groups* with a question that names an example of each effect
    of their differences.
    """
    return [_with_question(one, groups[key_of(one)]) if key_of(one) in groups else one for one in findings]


def _with_question(finding: Finding, groups: Sequence[DifferenceGroup]) -> Finding:
    by_risk: dict[Risk, DifferenceGroup] = {}
    for group in groups:
        by_risk.setdefault(risk_of_access(group), group)
    if len(by_risk) > 1:  # another refusal is no access that is gained or lost
        by_risk.pop(Risk.CHANGES, None)
    shown = "; ".join(map(question_of, by_risk.values()))
    known = finding.risk if finding.needs_review and finding.decision else None
    question = f"May 2.4 answer so: {shown}?"
    if known in (Risk.OPENS, Risk.CLOSES) and known not in by_risk:
        question = f"{finding.decision.removesuffix('?')}; {shown}?"
    effects = {*by_risk, *([known] if known is not None else [])}
    return replace(
        finding,
        safety=Safety.REVIEW,
        stays=min(effects, key=lambda risk: risk.rank),
        is_bidirectional=effects >= {Risk.OPENS, Risk.CLOSES},
        was_error=all(group.examples[0].old.status >= 400 for group in groups),
        advice=finding.advice if known is not None else "check whether these answers of 2.4 are wanted",
        decision=question,
        answers=(
            f"yes: upgrade writes it, and # whimbrel: ignore[{finding.rule}] above the new line records it",
            AS_BEFORE,
        ),
    )


def question_of(group: DifferenceGroup) -> str:
    """Return the first example of *group* that has its effect on access: whose request gets what."""
    risk = risk_of_access(group)
    found = list(access_differences([group]))
    one = next((one for one in found if one.risk is risk), found[0])
    before, after = one.words
    return f"{one.request} ({one.client}): {before} -> {after}"
