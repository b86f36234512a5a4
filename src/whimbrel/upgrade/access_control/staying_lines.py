"""Order, Allow, Deny and Satisfy that stay in a file whose server is unknown.

2.4 has them in mod_access_compat alone. A file that is read without its server cannot load that module, so
these lines may break the start, or answer 500 from a .htaccess file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.upgrade.access_control.analysis import AccessAnalysis
from whimbrel.upgrade.access_control.effective import RECORD
from whimbrel.upgrade.access_control.fragment_context import is_loose
from whimbrel.upgrade.access_control.sections import AccessSection
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.source.config_tree import ConfigTree, Role, SourceFile, Statement
from whimbrel.upgrade.source.queries import scope_of

_MODULE: Final = ("mod_access_compat.c", "access_compat_module")
EFFECT: Final = "2.4 reads Order, Allow, Deny and Satisfy with mod_access_compat alone"
OUTER_PASSWORD: Final = (
    "they stay, because an outer section may ask for a password, and Require would replace it"
)
BOTH_VERSIONS: Final = "they stay beside lines of 2.4, and the file alone does not tell which are meant"
MAIN_FILE: Final = "give the main file with -f"


def needs_access_compat(line: Statement) -> bool:
    """Return True if 2.4 reads a line of mod_access_compat without testing for the module."""
    return (
        line.name in RECORD | {"satisfy"}
        and line.in_24 is not False
        and not any(
            section.name == "<ifmodule" and section.args.strip().strip('"').lower() in _MODULE
            for section in line.enclosing()
        )
    )


def remaining(tree: ConfigTree, analysis: AccessAnalysis) -> Iterator[tuple[AccessSection, Finding]]:
    """Yield a finding for each section of such a file that still has one of these lines."""
    sections = {unit.statement: unit for unit in analysis.inventory.sections if unit.statement is not None}
    files = {unit.file: unit for unit in analysis.inventory.sections if unit.statement is None}
    seen: set[AccessSection] = set()
    for line in tree.named(*RECORD, "satisfy", include_inactive=True):
        if not needs_access_compat(line):
            continue
        unit = _section_of(line, sections, files)
        if unit is not None and unit not in seen and is_loose(tree, unit):
            seen.add(unit)
            yield unit, stays_finding(unit, BOTH_VERSIONS, MAIN_FILE)


def _section_of(
    line: Statement,
    sections: dict[Statement, AccessSection],
    files: dict[SourceFile, AccessSection],
) -> AccessSection | None:
    """Return the section that *line* belongs to, the .htaccess file outside of sections."""
    scope = scope_of(line)
    while scope is not None and scope not in sections:
        scope = scope_of(scope)
    if scope is not None:
        return sections[scope]
    return files.get(line.file) if line.file.role is Role.HTACCESS else None


def stays_finding(unit: AccessSection, reason: str, advice: str) -> Finding:
    """Return the finding about a section that keeps these lines."""
    return Finding("C17", unit.place, f"{EFFECT}; {reason}", advice, Risk.BREAKS)
