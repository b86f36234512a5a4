"""What 2.4 does with a section whose text stays as it is: it does not start, or admits other clients, or the
same.
"""

from __future__ import annotations

from whimbrel.access.decision import AccessVerdict, Counterexample
from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.upgrade.access_control.analysis import AccessAnalysis
from whimbrel.upgrade.access_control.sections import AccessSection
from whimbrel.upgrade.apply.written_texts import is_written_by_upgrade
from whimbrel.upgrade.model import AS_IT_STANDS, Finding, Risk, Safety
from whimbrel.upgrade.source.access_compat import access_compat, needs_access_compat
from whimbrel.upgrade.source.config_tree import ConfigTree
from whimbrel.upgrade.source.walk import walk


@dataclass(frozen=True, slots=True)
class UnchangedText:
    """The effect of the text as it stands, with a client that shows who gains or loses access."""

    risk: Risk
    example: str = ""


def of_section(tree: ConfigTree, analysis: AccessAnalysis, section: AccessSection) -> UnchangedText:
    """Return what the lines of *section* do under 2.4, below the sections around it as they stand."""
    if any(map(needs_access_compat, walk(section.lines))) and not access_compat(tree).is_loaded:
        if not tree.is_judged or _has_choices(analysis, section):
            return UnchangedText(Risk.BREAKS)
        with_module = _compared(analysis, section, "with mod_access_compat alone: ")
        return UnchangedText(Risk.BREAKS, with_module.example if with_module.risk is Risk.OPENS else "")
    if any(line.name in analysis.decisions.removed_names for line in analysis.decisions.lines[section]):
        return UnchangedText(Risk.BREAKS)
    if _has_choices(analysis, section):
        return UnchangedText(Risk.CHANGES)
    if analysis.decisions.is_of_24 and is_written_by_upgrade(section.file.path, tree.root):
        return UnchangedText(Risk.COSMETIC)  # an upgrade wrote it for 2.4: what 2.2 did with it is no answer
    return _compared(analysis, section)


def _has_choices(analysis: AccessAnalysis, section: AccessSection) -> bool:
    """Return True if open conditions decide about lines of *section*, or of one around it."""
    chains = analysis.chains_ending_at(section)
    return bool(section.choices) or any(part.choices for chain in chains for part in chain.sections)


def _compared(analysis: AccessAnalysis, section: AccessSection, state: str = AS_IT_STANDS) -> UnchangedText:
    """Return the worst effect in the chains that end with *section*; *state* is the begin of the example."""
    decisions = analysis.decisions
    worst = UnchangedText(Risk.COSMETIC)
    for chain in analysis.chains_ending_at(section):
        before = decisions.read_by_22(chain)
        after = decisions.as_it_stands(chain)
        if after is None:
            return UnchangedText(Risk.BREAKS)
        if before is None:
            found = UnchangedText(Risk.CHANGES)
        else:
            found = _of_example(decisions.cache.difference(before, after), state)
        if found.risk.rank < worst.risk.rank:
            worst = found
    return worst


def _of_example(example: Counterexample | None, state: str) -> UnchangedText:
    if example is None:
        return UnchangedText(Risk.COSMETIC)
    risk = Risk.OPENS if example.after is AccessVerdict.GRANTED else Risk.CLOSES
    return UnchangedText(risk, f"{state}{example}")


def as_running(analysis: AccessAnalysis, finding: Finding, unchanged: UnchangedText) -> Finding:
    """Return *finding*, for review if the text loads mod_access_compat for 2.4 and *unchanged* differs from
    what 2.2 does with it: the new text decides as the server of 2.4 that runs, and the text may be one of 2.2
    that was put there.
    """
    if not analysis.decisions.is_of_24 or not unchanged.example:
        return finding
    return replace(
        finding,
        advice="the new text decides as 2.4 does with this one; check whether that is meant",
        safety=Safety.REVIEW,
        decision="Is meant what 2.4 decides with mod_access_compat, and not what 2.2 did with these lines?",
        answers=("yes: upgrade writes it", "no: write the lines that are meant in the new text"),
    )
