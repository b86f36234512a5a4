"""What rules have in common: in which server and section a line stands, and edits that keep a file fit for 2.2 where that is wished."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from whimbrel.syntax.words import getword
from whimbrel.upgrade.model import FileEdit
from whimbrel.upgrade.source.config_tree import ConfigTree, Role, Statement

BRANCH_SECTIONS: Final = ("<ifmodule", "<ifdefine", "<ifversion", "<iffile", "<ifdirective", "<ifsection")
"""Sections that only decide whether their lines are read."""
GUARD_24: Final = "<IfModule mod_authz_core.c>"
GUARD_22: Final = "<IfModule !mod_authz_core.c>"
GUARD_END: Final = "</IfModule>"


# where -------------------------------------------------------------------------------------------
def server_of(line: Statement) -> Statement | None:
    """The <VirtualHost> around *line*, None in the main server."""
    return next(line.enclosing("<virtualhost"), None)


def scope_of(line: Statement) -> Statement | None:
    """The section that *line* configures: the innermost one that is no branch; None at the top of a file's tree."""
    return next((section for section in line.enclosing() if section.name not in BRANCH_SECTIONS), None)


def at_server_level(line: Statement) -> bool:
    """Whether *line* stands in a server or virtual host, in no section for folders, and in no .htaccess file."""
    scope = scope_of(line)
    return line.file.role is Role.MAIN and (scope is None or scope.name == "<virtualhost")


def has_same_scope(line: Statement, other: Statement) -> bool:
    """Whether both configure the same server, section or .htaccess folder."""
    scope = scope_of(line)
    return scope is scope_of(other) and (
        scope is not None or (line.file.role, line.file.directory) == (other.file.role, other.file.directory)
    )


def branches_of(line: Statement) -> list[Statement]:
    """The branches around *line* within its scope."""
    branches = []
    for section in line.enclosing():
        if section.name not in BRANCH_SECTIONS:
            break
        branches.append(section)
    return branches


def lines_for_24(tree: ConfigTree, *names: str) -> Iterator[Statement]:
    """All lines called *names* that 2.4 may read, those of its own branches too."""
    return (line for line in tree.named(*names, include_inactive=True) if line.in_24 is not False)


def reading_order(tree: ConfigTree) -> dict[int, int]:
    """The place of each statement in the order of reading, by its id."""
    order = tree.cache.get("positions")
    if not isinstance(order, dict):
        order = tree.cache["positions"] = {id(line): at for at, line in enumerate(tree.all_statements())}
    return order


def is_module_missing(tree: ConfigTree, module: str) -> bool:
    """Whether the configuration loads modules, but *module* (an identifier) not under 2.4."""
    return module not in tree.modules_24 and tree.has("loadmodule")


# what --------------------------------------------------------------------------------------------
def quote_arg(word: str) -> str:
    """*word* as an argument, in quotes where it needs them; what getword makes of it is *word*."""
    if word and not any(c in word for c in " \t\"'\\"):
        return word
    out = []
    for at, c in enumerate(word):
        follows = word[at + 1 : at + 2]
        out.append("\\" + c if c == '"' or (c == "\\" and follows in ("\\", '"', "")) else c)
    return '"' + "".join(out) + '"'


def is_quotable(word: str) -> bool:
    """Whether `quoted` has a form for *word* that httpd reads as the same."""
    return getword(quote_arg(word))[0] == word


# edits -------------------------------------------------------------------------------------------
def remove_line(tree: ConfigTree, line: Statement) -> tuple[FileEdit, ...]:
    """Take *line* away, or keep it for 2.2 alone."""
    return replace_guarded(tree, line, ())


def change_args(tree: ConfigTree, line: Statement, args: str) -> tuple[FileEdit, ...]:
    """Give *line* other arguments; with the wish for both versions, 2.2 keeps the old ones."""
    return (
        replace_guarded(tree, line, [f"{line.node.name} {args}"])
        if tree.options.also_22
        else (line.replace_args(args),)
    )


def replace_guarded(tree: ConfigTree, line: Statement, lines: Iterable[str]) -> tuple[FileEdit, ...]:
    """Put *lines* in the place of *line*; with the wish for both versions, 2.2 keeps the old one."""
    wanted = list(lines)
    if not tree.options.also_22:
        return (line.replace(wanted) if wanted else line.remove(),)
    return line.insert_before([GUARD_22]), line.insert_after([GUARD_END, *_guarded_24(wanted)])


def insert_below(tree: ConfigTree, line: Statement, lines: Iterable[str]) -> tuple[FileEdit, ...]:
    """Put *lines*, which only 2.4 takes, below *line*."""
    return (line.insert_after(_with_guard(tree, lines)),)


def insert_above(tree: ConfigTree, line: Statement, lines: Iterable[str]) -> tuple[FileEdit, ...]:
    """Put *lines*, which only 2.4 takes, above *line*."""
    return (line.insert_before(_with_guard(tree, lines)),)


def _with_guard(tree: ConfigTree, lines: Iterable[str]) -> list[str]:
    return _guarded_24(list(lines)) if tree.options.also_22 else list(lines)


def _guarded_24(lines: list[str]) -> list[str]:
    return [GUARD_24, *(f"    {line}" for line in lines), GUARD_END] if lines else []
