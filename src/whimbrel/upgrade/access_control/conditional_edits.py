"""Edits of sections whose lines stand in branches: each line goes into a branch with exactly its conditions.

An existing branch with the same conditions takes the lines; otherwise a new one is written. A branch that
loses all its lines is removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from whimbrel.access.layers import AccessLine
from whimbrel.upgrade.access_control.edits import differences, guarded, repeated
from whimbrel.upgrade.access_control.effective import CONTROL
from whimbrel.upgrade.access_control.replacement import Replacement
from whimbrel.upgrade.access_control.sections import (
    AccessSection,
    as_written,
    is_access_statement,
    open_branches,
)
from whimbrel.upgrade.model import FileEdit
from whimbrel.upgrade.source.conditions import (
    TRANSPARENT,
    Literal,
    is_lost,
    literal_of_line,
    literals,
)
from whimbrel.upgrade.source.config_tree import Statement
from whimbrel.upgrade.source.walk import walk

Path = frozenset[Literal]
"""The conditions around a line, in any order."""
Around = tuple[Literal, ...]
"""The conditions around a line, outermost first."""
_NOWHERE: Path | None = None
"""The path of statements that must be removed: 2.4 would not read a replacement there, or they contain
branches."""


def of_conditional(
    unit: AccessSection, form: Replacement, gone: frozenset[str], *, also_22: bool, rank: int = 0
) -> tuple[FileEdit, ...]:
    """Return the edits that give the section the lines of *form*; *gone* are directives that 2.4 lacks.

    *rank* is that of its repetitions.
    """
    names = CONTROL | gone
    old = [
        line for line in unit.lines if line.name.removeprefix("<") in names or is_lost(line, unit.statement)
    ]
    repeats = tuple(repeated(unit, repeat, also_22=also_22, rank=rank) for repeat in form.repeats)
    if also_22:
        return (*guarded(unit, old, form.control), *repeats)
    wanted: dict[Path, tuple[Around, list[AccessLine]]] = {}
    staying = {line.args for line in walk(form.control) if line.name not in names}
    rescued = (
        found
        for line in old
        for found in _rescued(line, unit.statement, names)
        if found[1].args not in staying
    )
    for around, line in (*rescued, *_placed(form.control)):
        wanted.setdefault(frozenset(around), (around, []))[1].append(line)
    groups: dict[Path | None, list[Statement]] = {}
    for statement in old:
        groups.setdefault(_path(statement, unit.statement), []).append(statement)
    return (*_without_empty_branches(unit, old, list(_edits(unit, groups, wanted))), *repeats)


def _edits(
    unit: AccessSection,
    groups: dict[Path | None, list[Statement]],
    wanted: dict[Path, tuple[Around, list[AccessLine]]],
) -> Iterator[FileEdit]:
    _, current = wanted.pop(frozenset(), ((), []))
    for path in [path for path in wanted if path not in groups]:
        current.append(_contained(*wanted.pop(path)))
    yield from differences(unit, groups.pop(frozenset(), []), current)
    for path, (_, lines) in wanted.items():
        yield from differences(unit, groups.pop(path), lines, in_branch=True)
    for lost in groups.values():
        yield from (line.remove() for line in lost)


def _contained(around: Around, lines: list[AccessLine]) -> AccessLine:
    contained = tuple(lines)
    for literal in reversed(around):
        contained = (literal.around(contained),)
    return contained[0]


def _placed(lines: Iterable[AccessLine], around: Around = ()) -> Iterator[tuple[Around, AccessLine]]:
    """Yield each line with the conditions around it."""
    for line in lines:
        if f"<{line.name}" in TRANSPARENT:
            yield from _placed(line.children, (*around, literal_of_line(line)))
        else:
            yield around, line


def _path(statement: Statement, outer: Statement | None) -> Path | None:
    if is_lost(statement, outer) or _has_branches(statement):
        return _NOWHERE
    return frozenset(literals(statement, outer))


def _has_branches(statement: Statement) -> bool:
    return statement.is_section and any(
        child.name in TRANSPARENT or _has_branches(child) for child in statement.children
    )


def _rescued(
    statement: Statement, outer: Statement | None, names: frozenset[str], around: Around = ()
) -> Iterator[tuple[Around, AccessLine]]:
    """Yield the lines such as AuthType that would vanish with a container, or with a branch that 2.4 does not
    read."""
    around = (*around, *literals(statement, outer))
    if statement.is_section:
        for child in open_branches(statement.children):
            if is_access_statement(child):
                yield from _rescued(child, statement, names, around)
    elif statement.name not in names:
        yield around, as_written(statement)


# branches that become empty -------------------------------------------------------------------------
def _without_empty_branches(
    unit: AccessSection, old: list[Statement], edits: list[FileEdit]
) -> Iterator[FileEdit]:
    """Yield *edits*, with a whole branch removed if all its lines are removed."""
    removals = {line.remove(): line for line in old}
    going = {id(removals[edit]) for edit in edits if edit in removals}
    yield from (edit for edit in edits if edit not in removals)
    done: set[int] = set()
    for full in (removals[edit] for edit in edits if edit in removals):
        while full.parent is not None and full.parent is not unit.statement and _goes(full.parent, going):
            full = full.parent
        if id(full) not in done:
            done.add(id(full))
            yield full.remove()


def _goes(branch: Statement, going: set[int]) -> bool:
    """Return True if the branch contains removed lines only, and no comment."""
    if branch.name not in TRANSPARENT or b"#" in branch.file.document.source(branch.node):
        return False
    return all(id(child) in going or _goes(child, going) for child in branch.children)
