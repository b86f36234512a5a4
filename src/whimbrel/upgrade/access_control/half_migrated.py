"""Configurations that mix the access control of both versions: a main file of 2.4 with sites of 2.2.

2.4 evaluates both and refuses each client that one of them refuses. Under `Require all denied` an inner
`Allow from all` gives 403 (AH01630); under `Deny from all` an inner `Require all granted` gives 403
(AH01797). The text does not show which one was intended, so nothing is edited.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.access.decision import AccessDecision, AccessVerdict, Counterexample
from whimbrel.base.dialect import V22, V24
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.upgrade.access_control.analysis import AccessAnalysis, analyze_access, persistent_cache
from whimbrel.upgrade.access_control.effective import RECORD, has_directive
from whimbrel.upgrade.access_control.findings import key_of
from whimbrel.upgrade.access_control.host_chains import chain_of
from whimbrel.upgrade.access_control.replacement import FILES, Lines
from whimbrel.upgrade.access_control.sections import AccessSection, Chain
from whimbrel.upgrade.access_control.unchanged_sections import is_ambiguous, is_of_22, serves_both
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.source.config_tree import ConfigTree

_BRANCHES: Final = ("<ifversion", "<ifmodule")


def half_migrated(tree: ConfigTree) -> Iterator[Finding]:
    """Yield sections whose decision an outer section with directives of the other version, or with branches
    for both versions, changes; and sections that mix both."""
    analysis = analyze_access(tree)
    known = persistent_cache(tree)
    if analysis.is_first and any(unit.is_upgraded for unit in analysis.left):
        known.update(
            (("half-migrated", key_of(finding_unit)), finding)
            for finding_unit, finding in (*_changed(analysis), *_closed(analysis), *_mixed(tree, analysis))
        )
    for unit in analysis.left:
        finding = known.get(("half-migrated", key_of(unit)))
        if isinstance(finding, Finding):
            yield replace(finding, place=unit.place)


def _closed(analysis: AccessAnalysis) -> Iterator[tuple[AccessSection, Finding]]:
    seen: set[AccessSection] = set()
    for chain, hosts in analysis.host_chains.shared():
        last = chain.last
        if last in seen or last not in analysis.left or any(part.choices for part in chain.sections):
            continue
        around = _around(chain)
        words = _other_words(last, around)
        if words is not None and _is_closed(analysis, [*around, last]) and not _is_closed(analysis, [last]):
            for sections in ({}, *(host.sections for host in hosts)):
                unit = sections.get(last, last)
                if unit not in seen:
                    seen.add(unit)
                    yield unit, _finding(analysis, unit, sections.get(words, words))


def _changed(analysis: AccessAnalysis) -> Iterator[tuple[AccessSection, Finding]]:
    """Yield sections of 2.2 below a section with a branch for each version, where 2.4 decides differently."""
    seen: set[AccessSection] = set()
    decisions = analysis.decisions.cache
    for chain in _below_both(analysis):
        unit = chain.last
        if unit in seen or unit not in analysis.left or any(part.choices for part in chain.sections):
            continue
        before, after = (
            decisions.decision(
                version,
                [decisions.layer(part.kind, part.in_htaccess, lines_of(part)) for part in chain.sections],
            )
            for version, lines_of in ((V22.name, _old), (V24.name, _new))
        )
        example = None if before is None or after is None else decisions.difference(before, after)
        if example is not None:
            seen.add(unit)
            outer = [part for part in chain.sections[:-1] if part.is_upgraded]
            yield unit, _changed_finding(unit, outer[-1], example)


def _below_both(analysis: AccessAnalysis) -> Iterator[Chain]:
    """Yield the chains of sections of 2.2 whose upgraded outer sections all have a branch for each version;
    equivalent hosts have them alike."""
    for chain, hosts in analysis.host_chains.shared():
        outer = [part for part in chain.sections[:-1] if part.is_upgraded]
        if outer and not chain.last.is_upgraded and all(map(serves_both, outer)):
            yield chain
            yield from (chain_of(host, chain) for host in hosts)


def _changed_finding(unit: AccessSection, outer: AccessSection, example: Counterexample) -> Finding:
    if has_branches(outer):
        has = "which has a branch for each version"
        advice = "write a branch for each version here too, or Require lines alone"
    else:
        has = "which has lines of 2.2 and, where 2.4 alone reads them, Require lines"
        advice = "write Require lines alone, here and there"
    return Finding(
        "C20",
        unit.place,
        (
            f"its lines of 2.2 are merged behind those of {_name(outer)}, {has}: 2.4 applies them together "
            f"with the Require there; {example}"
        ),
        advice,
        Risk.OPENS if example.after is AccessVerdict.GRANTED else Risk.CLOSES,
    )


def has_branches(unit: AccessSection) -> bool:
    """Return True if lines of the section stand in branches that the version or a module decides."""
    for line in (*unit.lines, *unit.lines_24_only):
        outer = line.parent
        while outer is not None and outer is not unit.statement:
            if outer.name in _BRANCHES:
                return True
            outer = outer.parent
    return False


def _mixed(tree: ConfigTree, analysis: AccessAnalysis) -> Iterator[tuple[AccessSection, Finding]]:
    """Yield sections with directives of both versions in a configuration that does not load the modules of
    2.4."""
    for unit in analysis.left:
        if is_of_22(tree) and is_ambiguous(unit):
            yield (
                unit,
                Finding(
                    "C20",
                    unit.place,
                    (
                        "Order, Allow, Deny or Satisfy beside a Require that only 2.4 understands: 2.2 reads "
                        "its arguments as names that no module knows"
                    ),
                    "write the lines that are meant; the section is unchanged",
                    Risk.OPENS,
                ),
            )


def _around(chain: Chain) -> list[AccessSection]:
    """Return the outer sections that apply to every request of their chain's last one.

    A <Files> section is about some names in a <Location> or <Directory>, and closes those alone.
    """
    is_about_names = chain.last.kind in FILES
    return [unit for unit in chain.sections[:-1] if is_about_names or unit.kind not in FILES]


def _other_words(unit: AccessSection, around: list[AccessSection]) -> AccessSection | None:
    """Return the innermost outer section with directives of the other version than those of *unit*."""
    last = _new(unit)
    if has_directive(last, RECORD) and not has_directive(last, {"require"}):
        return next(
            (
                outer
                for outer in reversed(around)
                if outer.is_upgraded and has_directive(_new(outer), {"require"})
            ),
            None,
        )
    if unit.is_upgraded and not has_directive(last, RECORD):
        return next((outer for outer in reversed(around) if has_directive(_new(outer), RECORD)), None)
    return None


def _name(unit: AccessSection) -> str:
    """Return the words for a section in messages: its text, since edits of other rules move its line."""
    if unit.statement is None:
        return unit.file.path
    return f"`<{unit.statement.node.name} {unit.statement.args.strip()}>` of {unit.file.path}"


def _old(unit: AccessSection) -> Lines:
    return unit.access_lines


def _new(unit: AccessSection) -> Lines:
    return unit.access_lines_24


def _is_closed(analysis: AccessAnalysis, units: list[AccessSection]) -> bool:
    """Return True if 2.4 refuses every client in *units* together."""
    decisions = analysis.decisions.cache
    after: AccessDecision | None = decisions.decision(
        V24.name, [decisions.layer(unit.kind, unit.in_htaccess, unit.access_lines_24) for unit in units]
    )
    return after is not None and after.when[AccessVerdict.FORBIDDEN] == decisions.space.true


def _finding(analysis: AccessAnalysis, unit: AccessSection, other: AccessSection) -> Finding:
    if unit.is_upgraded:
        return Finding(
            "C20",
            unit.place,
            (
                f"half-migrated: this Require stands under Order, Allow or Deny of {_name(other)}; 2.4 "
                "evaluates both and answers 403 to every client (AH01797)"
            ),
            "write Require in the outer section too",
            Risk.CLOSES,
        )
    text = analysis.lone_reason(unit)
    return Finding(
        "C20",
        unit.place,
        (
            f"half-migrated: Order, Allow and Deny stand under a Require of {_name(other)}; 2.4 "
            "evaluates both and answers 403 to every client (AH01630)"
        ),
        f"write {text} if the clients that 2.2 admitted are meant",
        Risk.CLOSES,
    )
