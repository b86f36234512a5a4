"""Edits that several rules share: replace, remove or insert lines, guarded by version where the result must
serve 2.2 too."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from whimbrel.syntax.edits import Edit
from whimbrel.syntax.words import getword, quoted
from whimbrel.upgrade.model import FileEdit
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement
from whimbrel.upgrade.source.marks import comments_above, marks_in
from whimbrel.upgrade.source.queries import is_branch, main_statements

GUARD_24: Final = "<IfModule mod_authz_core.c>"
GUARD_22: Final = "<IfModule !mod_authz_core.c>"
GUARD_END: Final = "</IfModule>"


def replace_statement(tree: ConfigTree, line: Statement, lines: Iterable[str] = ()) -> tuple[FileEdit, ...]:
    """Replace *line* with *lines* for 2.4.

    With --also-2.2, *line* moves into a block for 2.2, indented, and a block for 2.4 follows.
    """
    wanted = list(lines)
    if not tree.options.also_22:
        return (line.replace(wanted) if wanted else line.remove(),)
    block_22 = [GUARD_22, *("    " + text for text in source_lines(line)), "</IfModule>"]
    block_24 = [GUARD_24, *("    " + text for text in wanted), "</IfModule>"] if wanted else []
    return (line.replace([*block_22, *block_24]),)


def source_lines(line: Statement) -> list[str]:
    """Return the lines of the statement as written, without the indentation of the first one."""
    data = line.file.document.bytes[line.node.start : line.node.end].decode("latin-1")
    lines = [text.rstrip("\r") for text in data.rstrip("\r\n").split("\n")]
    return [lines[0].lstrip(" \t"), *lines[1:]]


def insert_for_server(tree: ConfigTree, lines: list[str]) -> tuple[Statement, FileEdit] | None:
    """Insert *lines* for the whole server, below the last directive before the main file's first section.

    Returns the statement beside it, one of the text as it was read, and the edit; None without a main file.
    """
    statements = main_statements(tree)
    main = [line for line in statements if not tree.is_written(line.place)] or statements
    if not main:
        return None
    first = next(
        (at for at, statement in enumerate(main) if statement.is_section and not is_branch(statement)),
        len(main),
    )
    plain = [statement for statement in main[:first] if not statement.is_section]
    if plain:
        return plain[-1], plain[-1].insert_after(lines)
    return main[0], main[0].insert_before(lines)


def insert_above_comment(statement: Statement, lines: list[str]) -> FileEdit:
    """Insert *lines* above *statement* and the comment directly above it.

    Of a comment that begins the file, only a mark that exempts the statement stays with it.
    """
    edit = statement.insert_before(lines)
    data = statement.file.document.bytes
    start = statement.node.start
    above = comments_above(data, start)
    marked = [at for at, end in above if marks_in(data[at:end])]
    top = above[-1][0] if above else start
    at = top or (marked[-1] if marked else start)
    return FileEdit(edit.path, Edit(at, at, edit.edit.text))


def is_quotable(word: str) -> bool:
    """Return True if httpd reads the quoted form of *word* as *word*."""
    return getword(quoted(word))[0] == word


def remove_line(tree: ConfigTree, line: Statement) -> tuple[FileEdit, ...]:
    """Remove *line*; with --also-2.2, keep it for 2.2 alone."""
    return replace_guarded(tree, line, ())


def change_args(tree: ConfigTree, line: Statement, args: str) -> tuple[FileEdit, ...]:
    """Replace the arguments of *line*; with --also-2.2, 2.2 keeps the old ones."""
    return (
        replace_guarded(tree, line, [f"{line.node.name} {args}"])
        if tree.options.also_22
        else (line.replace_args(args),)
    )


def replace_guarded(tree: ConfigTree, line: Statement, lines: Iterable[str]) -> tuple[FileEdit, ...]:
    """Replace *line* with *lines*.

    With --also-2.2, *line* keeps its bytes, between guards for 2.2, and a block for 2.4 follows.
    """
    wanted = list(lines)
    if not tree.options.also_22:
        return (line.replace(wanted) if wanted else line.remove(),)
    return line.insert_before([GUARD_22]), line.insert_after([GUARD_END, *_guarded_24(wanted)])


def insert_below(tree: ConfigTree, line: Statement, lines: Iterable[str]) -> tuple[FileEdit, ...]:
    """Insert *lines*, which only 2.4 accepts, below *line*."""
    return (line.insert_after(_with_guard(tree, lines)),)


def insert_above(tree: ConfigTree, line: Statement, lines: Iterable[str]) -> tuple[FileEdit, ...]:
    """Insert *lines*, which only 2.4 accepts, above *line*."""
    return (line.insert_before(_with_guard(tree, lines)),)


def _with_guard(tree: ConfigTree, lines: Iterable[str]) -> list[str]:
    return _guarded_24(list(lines)) if tree.options.also_22 else list(lines)


def _guarded_24(lines: list[str]) -> list[str]:
    return [GUARD_24, *(f"    {line}" for line in lines), GUARD_END] if lines else []
