"""What is not decided about a section: a chain with lines that are not known in full, or names that no text
stands for.
"""

from __future__ import annotations

from whimbrel.access.samples import has_unknown_matches
from whimbrel.upgrade.access_control.analysis import AccessAnalysis
from whimbrel.upgrade.access_control.sections import AccessSection, Chain


def undecided_part(analysis: AccessAnalysis, section: AccessSection) -> tuple[str, str]:
    """Return where it is not decided who is admitted by *section*, and why; "" where all is decided."""
    chain = analysis.undecided(section)
    if chain is not None:
        return where_of(chain), "the lines about access are not known in full"
    if section.regex is not None and has_unknown_matches(section.pattern):
        return f"what {section.pattern} matches", "the sections beside this one were not tried with it"
    return "", ""


def where_of(chain: Chain) -> str:
    return (chain.url or chain.path) + (f" ({chain.given})" if chain.given else "")
