"""Findings about equal sections of equivalent hosts: the words of the first one are true of the others."""

from __future__ import annotations

from collections.abc import Callable

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.upgrade.access_control.admission import UNCHANGED, admitted
from whimbrel.upgrade.access_control.analysis import AccessAnalysis
from whimbrel.upgrade.access_control.effective import RECORD, has_directive
from whimbrel.upgrade.access_control.sections import AccessSection
from whimbrel.upgrade.access_control.unchanged_text import of_section
from whimbrel.upgrade.model import FileEdit, Finding, Safety
from whimbrel.upgrade.source.config_tree import ConfigTree


def shared_finding(
    tree: ConfigTree,
    analysis: AccessAnalysis,
    section: AccessSection,
    edits: tuple[FileEdit, ...],
    find: Callable[[], Finding],
) -> Finding:
    """Return what *find* finds about a section with *edits*, or the finding about the first host with the
    place and the edits of this one.
    """
    first = analysis.equivalents.get(section, (section,))[0]
    if first is section:
        found = find()
        if _is_model(analysis, section, found):
            analysis.models[section] = found
        return found
    model = analysis.models.get(first)
    if model is None or not _is_true_of(tree, analysis, section, first, model):
        return find()
    return replace(model, place=section.place, edits=edits)


def _is_model(analysis: AccessAnalysis, section: AccessSection, finding: Finding) -> bool:
    """Return True if no word of the finding is about its place, or about a client or request of its host."""
    return (
        finding.safety is Safety.SAFE
        and finding.advice == UNCHANGED
        and not finding.evidence
        and not finding.remark
        and not has_directive(analysis.plans[section].control, RECORD | {"satisfy"})
    )


def _is_true_of(
    tree: ConfigTree, analysis: AccessAnalysis, section: AccessSection, first: AccessSection, model: Finding
) -> bool:
    """Return True if the words of *model*, about *first*, are true of *section*."""
    if analysis.plans[section] is not analysis.plans[first] or section.access_lines != first.access_lines:
        return False
    unchanged = of_section(tree, analysis, section)
    return (
        unchanged.risk is model.risk
        and not unchanged.example
        and admitted(tree, analysis, section, has_others=False) == UNCHANGED
    )
