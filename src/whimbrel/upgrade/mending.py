"""Edits that several rules need: a line that goes, a line for the whole server; and whether a configuration is one of 2.4."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from whimbrel.catalogue import catalogue
from whimbrel.syntax.edits import Edit
from whimbrel.upgrade.estate import Estate, Role, Statement
from whimbrel.upgrade.model import FileEdit

NEW_GUARD: Final = "<IfModule mod_authz_core.c>"
OLD_GUARD: Final = "<IfModule !mod_authz_core.c>"
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
_BRANCHES: Final = ("<ifmodule", "<ifdefine", "<ifversion", "<iffile", "<ifdirective", "<ifsection")


def swap(estate: Estate, line: Statement, lines: Iterable[str] = ()) -> tuple[FileEdit, ...]:
    """Put *lines* of 2.4 in the place of *line*; with --also-2.2 both stand there, each for its version."""
    wanted = list(lines)
    if not estate.wishes.also_22:
        return (line.replace(wanted) if wanted else line.remove(),)
    old = [OLD_GUARD, *("    " + text for text in source_lines(line)), "</IfModule>"]
    new = [NEW_GUARD, *("    " + text for text in wanted), "</IfModule>"] if wanted else []
    return (line.replace([*old, *new]),)


def source_lines(line: Statement) -> list[str]:
    """The statement as it is written, without the indentation of its first line."""
    data = line.file.document.bytes[line.node.start:line.node.end].decode("latin-1")
    lines = [text.rstrip("\r") for text in data.rstrip("\r\n").split("\n")]
    return [lines[0].lstrip(" \t"), *lines[1:]]


def is_new(estate: Estate) -> bool:
    """Whether the configuration loads modules that only 2.4 has: what it doesn't say means 2.4's defaults already."""
    known = estate.memo.get("is new")
    if known is None:
        known = estate.memo["is new"] = any(_only_new(line) for line in estate.named("loadmodule", dead=True) if line.in_24 is not False)
    return bool(known)


def _only_new(line: Statement) -> bool:
    words = line.words()
    if not words or words[0] in THIRD_PARTY_22:
        return False
    return catalogue("2.2").module(words[0]) is None and catalogue("2.4").module(words[0]) is not None


def top_level(estate: Estate) -> Iterator[Statement]:
    """The statements of the configuration's files that stand in no section, Includes followed, in reading order."""
    return _flat(estate.statements)


def _flat(statements: Iterable[Statement]) -> Iterator[Statement]:
    for statement in statements:
        yield statement
        if not statement.is_section:
            yield from _flat(statement.children)


def is_branch(statement: Statement) -> bool:
    """Whether it is a section that decides what is read, not where it holds."""
    return statement.name in _BRANCHES


def main_statements(estate: Estate) -> list[Statement]:
    """The outermost statements of the main file alone."""
    files = [file for file in estate.files.values() if file.role is Role.MAIN and any(s.parent is None for s in file.statements)]
    return [s for s in estate.statements if s.file is files[0]] if files else []


def for_server(estate: Estate, lines: list[str]) -> tuple[Statement, FileEdit] | None:
    """*lines* for the whole server, behind the last plain line before the main file's first section; None without such a file."""
    own = main_statements(estate)
    if not own:
        return None
    first = next((at for at, statement in enumerate(own) if statement.is_section and not is_branch(statement)), len(own))
    plain = [statement for statement in own[:first] if not statement.is_section]
    if plain:
        return plain[-1], plain[-1].after(lines)
    return own[0], own[0].before(lines)


def above(statement: Statement, lines: list[str]) -> FileEdit:
    """*lines* above *statement* and the comment that stands right over it, unless that is the head of the file."""
    plain = statement.before(lines)
    data, start = statement.file.document.bytes, statement.node.start
    while start and data[:start].endswith(b"\n"):
        line = data.rfind(b"\n", 0, start - 1) + 1
        if not data[line:start].lstrip(b" \t").startswith(b"#"):
            break
        start = line
    return plain if not start else FileEdit(plain.path, Edit(start, start, plain.edit.text))


def in_server(line: Statement) -> bool:
    """Whether *line* stands at the level of the server, outside of virtual hosts and of sections that hold for some requests."""
    return line.file.role is Role.MAIN and all(map(is_branch, line.enclosing()))
