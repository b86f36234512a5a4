"""The conditions that keep a section unchanged, as lines of the text: branches, and AllowOverride in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final

from whimbrel.upgrade.access_control.analysis import AccessAnalysis
from whimbrel.upgrade.access_control.sections import AccessSection, is_access_statement, open_branches
from whimbrel.upgrade.access_control.unchanged_sections import (
    OVERRIDE,
    SPLIT,
    TOO_MANY_CONDITIONS,
    UNCLEAR,
    overrides_above,
)
from whimbrel.upgrade.source.conditions import branches_between, is_open_branch, is_unclear_branch
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement

MAX_NAMED: Final = 4
"""Lines that a finding names."""


def named_conditions(tree: ConfigTree, analysis: AccessAnalysis, unit: AccessSection, reason: str) -> str:
    """Return the first lines that *reason*, why *unit* keeps its text, speaks of; "" if it speaks of none."""
    found: dict[str, None] = {}
    own = tree.original_place(unit.place).path
    for line in _of_reason(analysis, unit, reason):
        place = tree.original_place(line.place)
        shown = f"in line {place.line}" if place.path == own else f"at {place.path}:{place.line}"
        found[f"{_text(line)} {shown}"] = None
    return "; ".join(islice(found, MAX_NAMED))


def _of_reason(analysis: AccessAnalysis, unit: AccessSection, reason: str) -> Iterator[Statement]:
    if reason == OVERRIDE:
        for line in overrides_above(unit, analysis.inventory.sections):
            yield from (branch for branch in branches_between(line, None) if is_open_branch(branch))
            yield line
    elif reason == UNCLEAR:
        yield from _branches([unit], is_unclear_branch)
    elif reason in (SPLIT, TOO_MANY_CONDITIONS):
        own = list(_branches([unit], is_open_branch))
        chains = (
            (chain for chain in analysis.host_chains.every() if unit in chain.sections) if not own else ()
        )
        yield from own
        yield from _branches((section for chain in chains for section in chain.sections), is_open_branch)


def _branches(units: Iterable[AccessSection], is_meant: Callable[[Statement], bool]) -> Iterator[Statement]:
    """Yield the branches around the sections and their lines, and those in containers of lines."""
    for unit in units:
        if unit.statement is not None:
            yield from filter(is_meant, branches_between(unit.statement, unit.server))
        for line in unit.lines:
            yield from filter(is_meant, _around(line, unit.statement))


def _around(line: Statement, outer: Statement | None) -> Iterator[Statement]:
    yield from branches_between(line, outer)
    for child in open_branches(line.children) if line.is_section else ():
        if is_access_statement(child):
            yield from _around(child, line)


def _text(line: Statement) -> str:
    text = f"{line.node.name.lstrip('<')} {line.args.strip()}"
    return f"<{text}>" if line.is_section else text
