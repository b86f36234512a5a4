"""Edits that several rules need: a line that goes, a line for the whole server; and whether a configuration is one of 2.4."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from whimbrel.catalogue import catalogue
from whimbrel.syntax.edits import Edit
from whimbrel.upgrade.model import FileEdit
from whimbrel.upgrade.source.config_tree import ConfigTree, Role, Statement

GUARD_24: Final = "<IfModule mod_authz_core.c>"
GUARD_22: Final = "<IfModule !mod_authz_core.c>"
THIRD_PARTY_22: Final = frozenset(
    {
        "macro_module",
        "proxy_html_module",
        "xml2enc_module",
        "lua_module",
        "sed_module",
        "proxy_fcgi_module",
        "auth_form_module",
        "remoteip_module",
    }
)
"""Modules of 2.4 that were there for 2.2 too, from elsewhere: they show no version."""
BRANCH_SECTIONS: Final = ("<ifmodule", "<ifdefine", "<ifversion", "<iffile", "<ifdirective", "<ifsection")


def replace_statement(tree: ConfigTree, line: Statement, lines: Iterable[str] = ()) -> tuple[FileEdit, ...]:
    """Put *lines* of 2.4 in the place of *line*; with --also-2.2 both stand there, each for its version."""
    wanted = list(lines)
    if not tree.options.also_22:
        return (line.replace(wanted) if wanted else line.remove(),)
    block_22 = [GUARD_22, *("    " + text for text in source_lines(line)), "</IfModule>"]
    block_24 = [GUARD_24, *("    " + text for text in wanted), "</IfModule>"] if wanted else []
    return (line.replace([*block_22, *block_24]),)


def source_lines(line: Statement) -> list[str]:
    """The statement as it is written, without the indentation of its first line."""
    data = line.file.document.bytes[line.node.start : line.node.end].decode("latin-1")
    lines = [text.rstrip("\r") for text in data.rstrip("\r\n").split("\n")]
    return [lines[0].lstrip(" \t"), *lines[1:]]


def is_24_config(tree: ConfigTree) -> bool:
    """Whether the configuration loads modules that only 2.4 has: what it doesn't say means 2.4's defaults already."""
    cached = tree.cache.get("is new")
    if cached is None:
        cached = tree.cache["is new"] = any(
            _loads_24_module(line)
            for line in tree.named("loadmodule", include_inactive=True)
            if line.in_24 is not False
        )
    return bool(cached)


def _loads_24_module(line: Statement) -> bool:
    words = line.words()
    if not words or words[0] in THIRD_PARTY_22:
        return False
    return catalogue("2.2").module(words[0]) is None and catalogue("2.4").module(words[0]) is not None


def top_level(tree: ConfigTree) -> Iterator[Statement]:
    """The statements of the configuration's files that stand in no section, Includes followed, in reading order."""
    return _flatten(tree.statements)


def _flatten(statements: Iterable[Statement]) -> Iterator[Statement]:
    for statement in statements:
        yield statement
        if not statement.is_section:
            yield from _flatten(statement.children)


def is_branch(statement: Statement) -> bool:
    """Whether it is a section that decides what is read, not where it holds."""
    return statement.name in BRANCH_SECTIONS


def main_statements(tree: ConfigTree) -> list[Statement]:
    """The outermost statements of the main file alone."""
    main_files = [
        file
        for file in tree.files.values()
        if file.role is Role.MAIN and any(s.parent is None for s in file.statements)
    ]
    return [s for s in tree.statements if s.file is main_files[0]] if main_files else []


def insert_for_server(tree: ConfigTree, lines: list[str]) -> tuple[Statement, FileEdit] | None:
    """*lines* for the whole server, behind the last plain line before the main file's first section; None without such a file."""
    main = main_statements(tree)
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
    """*lines* above *statement* and the comment that stands right over it, unless that is the head of the file."""
    edit = statement.insert_before(lines)
    data, start = statement.file.document.bytes, statement.node.start
    while start and data[:start].endswith(b"\n"):
        line = data.rfind(b"\n", 0, start - 1) + 1
        if not data[line:start].lstrip(b" \t").startswith(b"#"):
            break
        start = line
    return edit if not start else FileEdit(edit.path, Edit(start, start, edit.edit.text))


def is_server_level(line: Statement) -> bool:
    """Whether *line* stands at the level of the server, outside of virtual hosts and of sections that hold for some requests."""
    return line.file.role is Role.MAIN and all(map(is_branch, line.enclosing()))
