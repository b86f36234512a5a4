"""Order, Allow, Deny and Satisfy that stay in a file whose server is unknown.

2.4 has them in mod_access_compat alone. A file that is read without its server cannot load that module, so
these lines may break the start, or answer 500 from a .htaccess file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.access.layers import SSL_CONDITIONS
from whimbrel.base.errors import SourceLocation
from whimbrel.upgrade.access_control.analysis import AccessAnalysis
from whimbrel.upgrade.access_control.effective import RECORD, flatten_directives, has_directive
from whimbrel.upgrade.access_control.fragment_context import is_loose_file
from whimbrel.upgrade.access_control.sections import AccessSection
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.source.access_compat import needs_access_compat
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement
from whimbrel.upgrade.source.queries import BRANCH_SECTIONS

_TRANSPARENT: Final = (*BRANCH_SECTIONS, "<limit", "<limitexcept")
EFFECT: Final = "2.4 reads Order, Allow, Deny and Satisfy with mod_access_compat alone"
OUTER_PASSWORD: Final = (
    "they stay, because an outer section may ask for a password, and Require would replace it"
)
JOINED: Final = (
    "they stay: Satisfy Any lets a user log in where SSLRequireSSL or SSLRequire refuses, and no Require "
    "line does"
)
BOTH_VERSIONS: Final = "they stay beside lines of 2.4, and the file alone does not tell which are meant"
OTHER_SECTION: Final = "they stay: no rule changes access in this kind of section"
LOADED: Final = "mod_access_compat is loaded"
"""What a file without its server does not tell."""
MAIN_FILE: Final = "give the main file with -f"


def sections_around(line: Statement) -> list[Statement]:
    """Return the sections that *line* applies to, the innermost first, without branches and <Limit>."""
    return [section for section in line.enclosing() if section.name not in _TRANSPARENT]


def remaining(tree: ConfigTree, analysis: AccessAnalysis) -> Iterator[tuple[AccessSection | None, Finding]]:
    """Yield a finding for each section of such a file that still has one of these lines; R10 reports lines
    outside of sections.

    The analysis of access knows no section such as <If>, which has None.
    """
    units = {unit.statement: unit for unit in analysis.inventory.sections if unit.statement is not None}
    files = {unit.file: unit for unit in analysis.inventory.sections if unit.statement is None}
    seen: set[SourceLocation] = set()
    for line in tree.named(*RECORD, "satisfy", include_inactive=True):
        if not needs_access_compat(line) or not is_loose_file(tree, line.file):
            continue
        scopes = sections_around(line)
        unit = next((units[section] for section in scopes if section in units), None)
        if unit is None and not scopes:
            unit = files.get(line.file)
        if unit is None and not scopes:
            continue
        place = unit.place if unit is not None else scopes[-1].place
        if place not in seen:
            seen.add(place)
            if unit is None:
                yield unit, stays_finding(place, OTHER_SECTION, "write Require lines by hand")
            elif unit.is_upgraded:
                yield unit, stays_finding(place, BOTH_VERSIONS, MAIN_FILE)
            else:
                yield unit, outer_password_finding(analysis, unit)


def stays_finding(place: SourceLocation, reason: str, advice: str) -> Finding:
    """Return the finding about a section that keeps these lines."""
    return Finding("C17", place, f"{EFFECT}; {reason}", advice, Risk.BREAKS, unless=LOADED)


def outer_password_finding(analysis: AccessAnalysis, unit: AccessSection) -> Finding:
    """Return the finding about a section that keeps these lines for the sake of an outer password, with both
    ways out; or for the sake of a condition of mod_ssl, which Satisfy Any joins with them."""
    if _has_joined_condition(unit):
        return stays_finding(unit.place, JOINED, "load mod_access_compat where this file is read")
    return stays_finding(
        unit.place,
        OUTER_PASSWORD,
        f"{MAIN_FILE}; or, if no outer section asks for a password, `whimbrel upgrade --assume "
        f"no-outer-password` writes {analysis.lone_reason(unit)}",
    )


def _has_joined_condition(unit: AccessSection) -> bool:
    """Return True if the section has a condition of mod_ssl, and Satisfy Any."""
    lines = unit.access_lines
    return has_directive(lines, SSL_CONDITIONS) and any(
        line.name == "satisfy" and line.args.strip().strip('"').lower() == "any"
        for line in flatten_directives(lines)
    )
