"""LogLevel for one module, where 2.2 had a directive or option of its own for it."""

from __future__ import annotations

from whimbrel.upgrade.estate import Estate, Role, Statement
from whimbrel.upgrade.model import FileEdit
from whimbrel.upgrade.rules.helping import above, below, branches_of, drop, in_24, positions, same_place, swap

MOST = 8
"""The highest trace level."""


def instead(estate: Estate, line: Statement, module: str, level: int) -> tuple[FileEdit, ...]:
    """Take *line* away and have *module* (its name without ``mod_``) log at trace *level*, 0 for not at all."""
    if level <= 0 or line.file.role is Role.HTACCESS:
        return drop(estate, line)
    wanted = f"LogLevel {module}:trace{min(level, MOST)}"
    later = later_level(estate, line)
    if later is None:
        return swap(estate, line, [wanted])
    return *drop(estate, line), *_after(estate, line, later, module, wanted)


def beside(estate: Estate, line: Statement, module: str, level: int) -> tuple[FileEdit, ...]:
    """Have *module* log at trace *level* where *line*, which stays, stands."""
    wanted = f"LogLevel {module}:trace{min(level, MOST)}"
    later = later_level(estate, line)
    return above(estate, line, [wanted]) if later is None else _after(estate, line, later, module, wanted)


def later_level(estate: Estate, line: Statement) -> Statement | None:
    """The last LogLevel below *line* that speaks for the same place: it resets the levels of all modules."""
    order = positions(estate)
    found = [one for one in in_24(estate, "loglevel") if same_place(one, line) and order[id(one)] > order[id(line)]]
    return found[-1] if found else None


def _after(estate: Estate, line: Statement, later: Statement, module: str, wanted: str) -> tuple[FileEdit, ...]:
    """The level below *later*; a module that isn't loaded there would stop the start."""
    around = {id(one) for one in branches_of(later)}
    guarded = any(id(one) not in around for one in branches_of(line))
    lines = [f"<IfModule mod_{module}.c>", f"    {wanted}", "</IfModule>"] if guarded else [wanted]
    return below(estate, later, lines)
