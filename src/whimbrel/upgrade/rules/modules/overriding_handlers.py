"""SetHandler lines that decide for files in the place of another line that gives them a handler.

httpd merges directories and .htaccess files, then <Files> sections, then <Location>, and takes the last
SetHandler; any SetHandler counts before an AddHandler. Manual: sections.html, mod/core.html#sethandler.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.base.fnmatch import compile_fnmatch
from whimbrel.base.regex import RegexError, compile_regex
from whimbrel.upgrade.source.config_tree import ConfigTree, Role, Statement
from whimbrel.upgrade.source.queries import lines_for_24

_FILES: Final = ("<files", "<filesmatch")
_NAMES_AND_URLS: Final = (
    *_FILES,
    "<location",
    "<locationmatch",
    "<proxy",
    "<proxymatch",
    "<if",
    "<else",
    "<elseif",
)
PROGRAMS: Final = (".php", ".phtml", ".cgi", ".pl", ".py")
"""Endings of programs for which a finding names what decides."""


def overriding_lines(tree: ConfigTree, line: Statement) -> list[tuple[Statement, Statement]]:
    """Return the <Files> sections of the whole server with their SetHandler lines that override *line*.

    They override an AddHandler line everywhere, and a SetHandler line outside of sections about names and
    URLs, which httpd merges before them.
    """
    if line.name == "sethandler" and any(True for _ in line.enclosing(*_NAMES_AND_URLS)):
        return []
    return [
        (section, other)
        for other in lines_for_24(tree, "sethandler")
        if other is not line and other.file.role is Role.MAIN and other.in_24 and len(other.words()) == 1
        for section in [_only_files_section(other)]
        if section is not None
    ]


def _only_files_section(line: Statement) -> Statement | None:
    """Return the <Files> section of *line* if only branches are around it, None for another place."""
    outer = [one for one in line.enclosing() if one.name not in ("<ifmodule", "<ifdefine", "<ifversion")]
    return outer[0] if len(outer) == 1 and outer[0].name in _FILES else None


def matches(section: Statement, name: str) -> bool:
    """Return True if a <Files> section holds for files called *name*."""
    found = section.words()
    if not found:
        return False
    is_pattern = section.name == "<filesmatch" or found[0] == "~"
    try:
        if not is_pattern:
            return compile_fnmatch(found[0]).search(name) is not None
        return compile_regex(found[-1]).search(name) is not None
    except RegexError:
        return False


def decided_programs(sections: list[tuple[Statement, Statement]]) -> Iterator[tuple[str, Statement]]:
    """Yield the endings of `PROGRAMS` for which *sections* decide, each with the last SetHandler line."""
    for ending in PROGRAMS:
        found = [other for section, other in sections if matches(section, f"x{ending}")]
        if found:
            yield ending, found[-1]
