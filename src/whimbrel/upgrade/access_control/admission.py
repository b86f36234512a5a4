"""Who gains or loses access by the planned text of a section, in words, and the requests that differ."""

from __future__ import annotations

from typing import Final

from whimbrel.access.decision import AccessVerdict
from whimbrel.base.dialect import V22
from whimbrel.base.errors import SourceLocation
from whimbrel.config.model import LOCATION_KINDS
from whimbrel.upgrade.access_control.analysis import AccessAnalysis
from whimbrel.upgrade.access_control.effective import RECORD, has_directive
from whimbrel.upgrade.access_control.fragment_context import is_loose
from whimbrel.upgrade.access_control.replacement import FILES
from whimbrel.upgrade.access_control.sections import AccessSection
from whimbrel.upgrade.access_control.solver import FailingChain, SectionPlan
from whimbrel.upgrade.edits.diff import display_path
from whimbrel.upgrade.source.config_tree import ConfigTree

UNCHANGED: Final = "nobody gains or loses access"
"""What is true of a section if every chain that ends with it was compared exactly."""
AS_SHOWN: Final = (
    f"{UNCHANGED}, as far as this file shows (below a <FilesMatch> or <Location> of its server 2.4 may deny "
    "what 2.2 admitted, or admit more)"
)
"""The same of a file without its server: a <Files> section or a password around it may decide too."""


def admitted(tree: ConfigTree, analysis: AccessAnalysis, section: AccessSection, *, has_others: bool) -> str:
    """Return who is admitted by a text that decides as 2.2 did; *has_others*: but for single requests."""
    if has_others and section.is_page:
        return "the page itself is admitted as before"
    if has_others:
        return "all requests but those for the files below are decided as before"
    if is_loose(tree, section):
        return AS_SHOWN
    other = beside(tree, analysis, section)
    if not other:
        opening = _admitted_beside(tree, analysis).get(section)
        if opening is None:
            return UNCHANGED
        where = f"{display_path(opening.path, tree.root)}:{opening.line}"
        return f"{UNCHANGED}: {where} admits clients to these files below it, in 2.2 as in 2.4"
    return f"{UNCHANGED} by this section alone; {other}"


def beside(tree: ConfigTree, analysis: AccessAnalysis, section: AccessSection) -> str:
    """Return that 2.4 decides requests of the section otherwise because of a later one, "" if it does not."""
    other = _differs_together(tree, analysis).get(section)
    if other is None:
        return ""
    return f"together with {display_path(other.path, tree.root)}:{other.line} 2.4 decides otherwise"


def reason_in(advice: str) -> str:
    """Return what follows the sentence of `admitted` as its reason, "" for nothing."""
    return advice.partition(": ")[2] if advice.startswith(UNCHANGED) else ""


def _differs_together(tree: ConfigTree, analysis: AccessAnalysis) -> dict[AccessSection, SourceLocation]:
    """Return the sections of requests that 2.4 decides otherwise because of a later section, each with its
    place."""
    cached = tree.cache.get("access control differs together")
    if isinstance(cached, tuple) and cached[0] is analysis:
        known: dict[AccessSection, SourceLocation] = cached[1]
        return known
    base = analysis.variants.base
    found: dict[AccessSection, SourceLocation] = {}
    for last, plan in analysis.plans.items():
        pending = () if last.is_page else open_requests(plan)
        for chain, _ in (*plan.failing, *pending):
            for unit in chain.sections:
                section = base.get(unit, unit)
                if section is not last:
                    found.setdefault(section, tree.original_place(last.place))
    tree.cache["access control differs together"] = (analysis, found)
    return found


def _admitted_beside(tree: ConfigTree, analysis: AccessAnalysis) -> dict[AccessSection, SourceLocation]:
    """Return the <Files> sections that refuse every client, and whose lists a <Location> replaces that admits
    clients; each with the place of this <Location>."""
    cached = tree.cache.get("access control admitted beside")
    if isinstance(cached, tuple) and cached[0] is analysis:
        known: dict[AccessSection, SourceLocation] = cached[1]
        return known
    decisions = analysis.decisions
    nobody = decisions.cache.space.false
    found: dict[AccessSection, SourceLocation] = {}
    for chain in decisions.chains:
        refusing = [unit for unit in chain.sections if unit.kind in FILES and unit not in found]
        last = chain.last
        if not refusing or last.kind not in LOCATION_KINDS or not has_directive(last.access_lines, RECORD):
            continue
        before = decisions.before_22(chain)
        if before is None or before.when[AccessVerdict.GRANTED] == nobody:
            continue
        for unit in refusing:
            own = decisions.cache.decision(V22.name, [decisions.layer_of(unit, unit.access_lines)])
            if own is not None and own.when[AccessVerdict.GRANTED] == nobody:
                found.setdefault(analysis.variants.base.get(unit, unit), tree.original_place(last.place))
    tree.cache["access control admitted beside"] = (analysis, found)
    return found


def opens(request: FailingChain) -> bool:
    """Return True if 2.4 admits the example client of the request, which 2.2 refuses."""
    example = request[1]
    return example is not None and example.after is AccessVerdict.GRANTED


def open_requests(plan: SectionPlan) -> list[FailingChain]:
    """Return the requests without a file that the new text decides otherwise than 2.2, with a client."""
    return [
        (chain, example) for chain, example in plan.possible if example is not None and not chain.is_prefix
    ]


def pending_requests(plan: SectionPlan) -> list[FailingChain]:
    """Return those of `open_requests` that ask for a decision: all if 2.4 admits more, else those that are
    not about single files, each in a directory that lacks it."""
    requests = open_requests(plan)
    if any(map(opens, requests)):
        return requests
    return [one for one in requests if not any(section.names_files for section in one[0].sections)]
