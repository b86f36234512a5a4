"""What is not decided about a section: a chain with lines that are not known in full, or names that no text
stands for.
"""

from __future__ import annotations

from whimbrel.access.samples import has_unknown_matches, has_unknown_sets
from whimbrel.upgrade.access_control.admission import once
from whimbrel.upgrade.access_control.analysis import AccessAnalysis
from whimbrel.upgrade.access_control.sections import AccessSection, Chain
from whimbrel.upgrade.source.config_tree import ConfigTree


def undecided_part(tree: ConfigTree, analysis: AccessAnalysis, section: AccessSection) -> tuple[str, str]:
    """Return where it is not decided who is admitted by *section*, and why; "" where all is decided."""
    chain = analysis.undecided(section)
    if chain is not None:
        return where_of(chain), "the lines about access are not known in full"
    if section.regex is not None and has_unknown_matches(section.pattern):
        return f"what {section.pattern} matches", "the sections beside this one were not tried with it"
    other = once(tree, analysis, _not_joined).get(section)
    if other is not None:
        names = f"names that {section.pattern} and {other} match together"
        return names, "not every name that both match was tried"
    return "", ""


def _not_joined(tree: ConfigTree, analysis: AccessAnalysis) -> dict[AccessSection, str]:
    """Return sections with the pattern of another one that may match the same names, where one of the two has
    no automaton: names of both are tried, and not all of them are known."""
    sections = [one for one in analysis.inventory.sections if one.expression is not None and one.has_lines]
    first: dict[bool, str] = {}
    for section in sections:
        first.setdefault(_has_unknown_sets(section), section.pattern)
    if True not in first:
        return {}
    found: dict[AccessSection, str] = {}
    for section in sections:
        if not _has_unknown_sets(section) or section.pattern != first[True]:
            found[section] = first[True]
        elif False in first:
            found[section] = first[False]
    return found


def _has_unknown_sets(section: AccessSection) -> bool:
    return section.regex is not None and has_unknown_sets(section.pattern)


def where_of(chain: Chain) -> str:
    return (chain.url or chain.path) + (f" ({chain.given})" if chain.given else "")
