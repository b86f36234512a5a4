"""Lines that several sections share because their file is included more than once: they can have one edit
only."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable

from whimbrel.upgrade.access_control.sections import AccessSection
from whimbrel.upgrade.model import FileEdit
from whimbrel.upgrade.source.config_tree import Statement

Key = tuple[str, int]
"""The path of a file, and the position of a statement in it."""


def disagreeing(
    units: Iterable[AccessSection],
    written: Container[AccessSection],
    edits_of: Callable[[AccessSection], tuple[FileEdit, ...]],
) -> set[AccessSection]:
    """Return the sections of *units* whose edits contradict those of another section with the same lines.

    Only the sections in *written* have edits.
    """
    shared: dict[Key, dict[AccessSection, None]] = {}
    for unit in units:
        for statement in (*unit.lines, *([unit.statement] if unit.statement is not None else [])):
            if statement.included_from is not None:
                shared.setdefault(_key(statement), {})[unit] = None
    contradicting: set[AccessSection] = set()
    known: dict[AccessSection, frozenset[FileEdit]] = {}
    for (path, _), units in shared.items():
        if len(units) > 1:
            for unit in units:
                if unit not in known:
                    known[unit] = frozenset(edits_of(unit)) if unit in written else frozenset()
            if len({frozenset(edit for edit in known[unit] if edit.path == path) for unit in units}) > 1:
                contradicting.update(unit for unit in units if unit in written)
    return contradicting


def _key(statement: Statement) -> Key:
    return statement.file.path, statement.node.start
