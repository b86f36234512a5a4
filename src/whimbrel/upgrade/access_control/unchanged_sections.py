"""Sections that keep their text: upgraded ones, undecidable ones, and all sections that share a chain with
them.

The new text of a section is right only together with the text of the sections around it, so they keep theirs
too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from whimbrel.base.latin1 import to_text
from whimbrel.config.model import SectionKind
from whimbrel.syntax.tree import Node, Section
from whimbrel.upgrade.access_control.effective import CONTROL, RECORD, has_directive
from whimbrel.upgrade.access_control.sections import AccessSection, Chain, is_access_statement, open_branches
from whimbrel.upgrade.access_control.variants import crowded
from whimbrel.upgrade.source.conditions import MAX_CONDITIONS, is_open, is_unclear
from whimbrel.upgrade.source.config_tree import ConfigTree, SourceFile, Statement
from whimbrel.upgrade.source.templates import TEMPLATE

CARRIED: Final = ""
"""The reason of a section that is upgraded already."""
TOO_MANY_CONDITIONS: Final = (
    f"more than {MAX_CONDITIONS} conditions of <IfDefine> and <IfModule> decide about its lines"
)
SPLIT: Final = (
    "no text of 2.4 was found that decides alike for every combination of the conditions around its lines"
)
SHARED: Final = (
    "its lines stand in a file that is included more than once, and each inclusion needs another text"
)
OVERRIDE: Final = "a condition decides whether AllowOverride admits its lines"
UNCLEAR: Final = "2.4 evaluates a condition around its lines differently"
ORDER: Final = (
    "who is admitted depends on the order in which 2.2 loads its authorization modules, which no line that "
    "was read shows"
)
NEIGHBOUR: Final = "it applies together with a section that is unchanged"
_BLOCK: Final = re.compile(
    r"\{%[-+]?\s*[a-z]+\b|<%(?!=)|^\s*%\s*(?:if|unless|for|else|end)\b|^\s*@@?[A-Za-z_][\w.-]*@\s*$",
    re.MULTILINE,
)
"""Template marks that read or skip whole lines: blocks of Jinja and ERB, a placeholder that is a line."""

Left = dict[AccessSection, str]
"""Each section that keeps its text, with the reason."""


def left(
    tree: ConfigTree,
    units: Sequence[AccessSection],
    chains: Sequence[Chain],
    like: Mapping[AccessSection, AccessSection],
    failed: Left,
    written: Collection[AccessSection] = (),
) -> Left:
    """Return the sections that no edit may change.

    *failed* are sections for which no text was found, with the reason; *like* maps sections to the equivalent
    section of the first host. *written* are sections whose text for 2.4 takes part in the search (`written`).
    """
    unchanged: Left = {}
    surely = {
        unit
        for unit in units
        if unit.is_upgraded
        and not serves_both(unit)
        and not ((is_ambiguous(unit) or unit.in_htaccess) and is_of_22(tree))
    }
    unsettled = {unit: why for unit in units if unit.lines and (why := _unsettled(tree, unit))}
    reasons = {
        **failed,
        **dict.fromkeys(crowded([unit for unit in units if unit not in like], chains), TOO_MANY_CONDITIONS),
        **unsettled,
    }
    reasons.update(
        dict.fromkeys((unit for unit in _below_open_override(units) if unit not in reasons), OVERRIDE)
    )
    silent = {unit for unit, reason in reasons.items() if reason == CARRIED}
    unchanged.update(dict.fromkeys(_neighbours(silent, chains), CARRIED))
    spreading = {
        unit for unit in reasons.keys() - silent if not (unit.in_htaccess and _is_damaged(tree, unit.file))
    }
    unchanged.update(dict.fromkeys(_neighbours(spreading, chains), NEIGHBOUR))
    unchanged.update(dict.fromkeys(_neighbours(surely, chains), CARRIED))
    upgraded = {unit for unit in units if unit.is_upgraded and unit not in written}
    unchanged.update(dict.fromkeys(_behind(upgraded, chains), CARRIED))
    unchanged.update(reasons)
    for unit in units:
        if unit.outer is not None and unit.outer in unchanged and unit not in unchanged:
            unchanged[unit] = NEIGHBOUR if unchanged[unit.outer] else CARRIED
    unchanged.update({unit: unchanged[first] for unit, first in like.items() if first in unchanged})
    return unchanged


def _below_open_override(units: Sequence[AccessSection]) -> Iterator[AccessSection]:
    """Yield the .htaccess files, with their sections, in directories whose AllowOverride stands under an open
    condition.

    One around a whole virtual host decides whether the host exists, which no request of it asks.
    """
    areas = [unit for unit in units if any(_open_overrides(unit))]
    yield from (unit for unit in units if areas and unit.lines and any(overrides_above(unit, areas)))


def overrides_above(unit: AccessSection, areas: Iterable[AccessSection]) -> Iterator[Statement]:
    """Yield the AllowOverride lines under open conditions that may apply to the .htaccess file of *unit*."""
    file = unit if unit.outer is None else unit.outer
    if file.kind is SectionKind.HTACCESS:
        for area in areas:
            if any(_may_hold(area, directory) for directory in (file.directory, *file.linked)):
                yield from _open_overrides(area)


def _open_overrides(area: AccessSection) -> Iterator[Statement]:
    return (line for line in area.override_lines if is_open(line, area.server))


def _may_hold(area: AccessSection, directory: str) -> bool:
    is_plain = area.kind is SectionKind.DIRECTORY and area.regex is None and not area.fnmatch
    return not is_plain or directory.startswith(area.pattern)


def _neighbours(start: Iterable[AccessSection], chains: Sequence[Chain]) -> set[AccessSection]:
    """Return *start* and all sections that share a chain with one of the result."""
    neighbours = set(start)
    before = -1
    while neighbours and len(neighbours) != before:
        before = len(neighbours)
        for chain in chains:
            if not neighbours.isdisjoint(chain.sections):
                neighbours.update(chain.sections)
    return neighbours


def _behind(start: set[AccessSection], chains: Sequence[Chain]) -> set[AccessSection]:
    """Return *start* and the sections that are merged only behind one of the result: their decisions cannot
    be compared."""
    behind = set(start)
    before = -1
    while behind and len(behind) != before:
        before = len(behind)
        free: set[AccessSection] = set()
        bound: set[AccessSection] = set()
        for chain in chains:
            first = next(
                (at for at, unit in enumerate(chain.sections) if unit in behind), len(chain.sections)
            )
            free.update(chain.sections[:first])
            bound.update(chain.sections[first:])
        behind |= bound - free
    return behind


def serves_both(unit: AccessSection) -> bool:
    """Return True if the section has a branch for each version."""
    return bool(unit.lines_24_only) and has_directive(unit.access_lines, CONTROL)


def written(units: Iterable[AccessSection]) -> set[AccessSection]:
    """Return the sections with a branch for each version that no other condition divides.

    Their branch for 2.4 is the text with which the sections around them are compared.
    """
    return {unit for unit in units if serves_both(unit) and not unit.choices and not unit.conditions}


def is_of_22(tree: ConfigTree) -> bool:
    """Return True if the configuration loads its modules, and not those of 2.4; words that 2.2 lacks have no
    other meaning there."""
    return tree.has("loadmodule") and "authz_core_module" not in tree.modules_24


def is_ambiguous(unit: AccessSection) -> bool:
    """Return True if the section has lists of 2.2 beside a word of Require that 2.2 lacks, and no container
    of 2.4."""
    return (
        unit.is_upgraded
        and not unit.is_surely_upgraded
        and has_directive(unit.access_lines, RECORD | {"satisfy"})
    )


# what the text does not settle ----------------------------------------------------------------------
def is_settled(tree: ConfigTree, unit: AccessSection) -> bool:
    """Return True if the text decides which lines about access and AllowOverride the section has."""
    return not (unit.lines and _unsettled(tree, unit)) and not any(_open_overrides(unit))


def _unsettled(tree: ConfigTree, unit: AccessSection) -> str:
    if _is_damaged(tree, unit.file):
        return "its file has sections that are not closed, or closed without being opened"
    if _in_template(unit):
        return "a template decides which of its lines exist"
    if any(_holds_unclear(line, unit.statement) for line in unit.lines) or (
        unit.statement is not None and is_unclear(unit.statement, unit.server)
    ):
        return UNCLEAR
    return ""


def _holds_unclear(statement: Statement, outer: Statement | None) -> bool:
    if is_unclear(statement, outer):
        return True
    return statement.is_section and any(
        _holds_unclear(child, statement)
        for child in open_branches(statement.children)
        if is_access_statement(child)
    )


def _in_template(unit: AccessSection) -> bool:
    """Return True if template marks stand in the section's body, or template blocks anywhere in its file."""
    data = unit.file.document.bytes
    if _has_blocks(unit.file):
        return True
    if not unit.file.is_template:
        return False
    if unit.statement is None:
        return any(TEMPLATE.search(line.args) for line in unit.lines)
    node = unit.statement.node
    assert isinstance(node, Section)
    return TEMPLATE.search(to_text(data[node.body : node.end])) is not None


@lru_cache(maxsize=64)
def _has_blocks(file: SourceFile) -> bool:
    data = file.document.bytes
    return (b"%" in data or b"@" in data) and _BLOCK.search(to_text(data)) is not None


def _is_damaged(tree: ConfigTree, file: SourceFile) -> bool:
    """Return True if httpd cannot determine the ends of the file's sections."""
    known = tree.cache.setdefault("damaged files", {})
    assert isinstance(known, dict)
    if file.path not in known:
        known[file.path] = any(broken is file for broken, _ in tree.malformed) or _has_open_section(
            file.document.children
        )
    return bool(known[file.path])


def _has_open_section(nodes: Iterable[Node]) -> bool:
    return any(
        isinstance(node, Section)
        and (node.close is None or ">" not in node.args or _has_open_section(node.children))
        for node in nodes
    )
