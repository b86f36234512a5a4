"""LogLevel of one module, in place of a directive or option of that module in 2.2."""

from __future__ import annotations

from whimbrel.upgrade.edits.helpers import insert_above, insert_below, remove_line, replace_guarded
from whimbrel.upgrade.model import FileEdit
from whimbrel.upgrade.source.config_tree import ConfigTree, Role, Statement
from whimbrel.upgrade.source.queries import branches_of, has_same_scope, lines_for_24, reading_order

MAX_TRACE_LEVEL = 8
"""The highest trace level."""


def replace_with_log_level(
    tree: ConfigTree, line: Statement, module: str, level: int
) -> tuple[FileEdit, ...]:
    """Replace *line* with a LogLevel that makes *module* (without ``mod_``) log at trace *level*; 0 removes
    the line."""
    if level <= 0 or line.file.role is Role.HTACCESS:
        return remove_line(tree, line)
    wanted = f"LogLevel {module}:trace{min(level, MAX_TRACE_LEVEL)}"
    later = later_log_level(tree, line)
    if later is None:
        return replace_guarded(tree, line, [wanted])
    return *remove_line(tree, line), *_insert_after(tree, line, later, module, wanted)


def add_log_level(tree: ConfigTree, line: Statement, module: str, level: int) -> tuple[FileEdit, ...]:
    """Make *module* log at trace *level* in the scope of *line*, which stays."""
    wanted = f"LogLevel {module}:trace{min(level, MAX_TRACE_LEVEL)}"
    later = later_log_level(tree, line)
    return (
        insert_above(tree, line, [wanted])
        if later is None
        else _insert_after(tree, line, later, module, wanted)
    )


def later_log_level(tree: ConfigTree, line: Statement) -> Statement | None:
    """Return the last LogLevel below *line* in the same scope: it resets the levels of all modules."""
    order = reading_order(tree)
    later_levels = [
        level
        for level in lines_for_24(tree, "loglevel")
        if has_same_scope(level, line) and order[level] > order[line]
    ]
    return later_levels[-1] if later_levels else None


def _insert_after(
    tree: ConfigTree, line: Statement, later: Statement, module: str, wanted: str
) -> tuple[FileEdit, ...]:
    """Insert the level below *later*; a module that is not loaded there would stop the start."""
    around = {id(branch) for branch in branches_of(later)}
    guarded = any(id(branch) not in around for branch in branches_of(line))
    lines = [f"<IfModule mod_{module}.c>", f"    {wanted}", "</IfModule>"] if guarded else [wanted]
    return insert_below(tree, later, lines)
