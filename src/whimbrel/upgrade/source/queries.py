"""Queries of a configuration tree: the server and scope of a statement, lines by version, and the version of
the text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.catalogue import catalogue
from whimbrel.upgrade.source.conditions import literals
from whimbrel.upgrade.source.config_tree import ConfigTree, Role, Statement
from whimbrel.upgrade.source.walk import walk

BRANCH_SECTIONS: Final = ("<ifmodule", "<ifdefine", "<ifversion", "<iffile", "<ifdirective", "<ifsection")
"""Sections that decide whether their lines are read."""
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
"""Modules of 2.4 that third parties provided for 2.2: they do not identify a version."""


def is_branch(statement: Statement) -> bool:
    """Return True if the section decides whether its lines are read, and not where they apply."""
    return statement.name in BRANCH_SECTIONS


def server_of(line: Statement) -> Statement | None:
    """Return the <VirtualHost> around *line*, None for the main server."""
    return next(line.enclosing("<virtualhost"), None)


def scope_of(line: Statement) -> Statement | None:
    """Return the section that *line* configures: the innermost one that is no branch; None at the top level
    of a file."""
    return next((section for section in line.enclosing() if section.name not in BRANCH_SECTIONS), None)


def has_same_scope(line: Statement, other: Statement) -> bool:
    """Return True if both configure the same server, section or directory of a .htaccess file."""
    scope = scope_of(line)
    return scope is scope_of(other) and (
        scope is not None or (line.file.role, line.file.directory) == (other.file.role, other.file.directory)
    )


def branches_of(line: Statement) -> list[Statement]:
    """Return the branches around *line* within its scope."""
    branches = []
    for section in line.enclosing():
        if section.name not in BRANCH_SECTIONS:
            break
        branches.append(section)
    return branches


def is_in_main_server(line: Statement) -> bool:
    """Return True if *line* configures the main server: it stands in no virtual host and in no section for
    some requests."""
    return line.file.role is Role.MAIN and all(map(is_branch, line.enclosing()))


def has_server_context(line: Statement) -> bool:
    """Return True if *line* stands in the server or a virtual host, in no section for directories, and in no
    .htaccess file."""
    scope = scope_of(line)
    return line.file.role is Role.MAIN and (scope is None or scope.name == "<virtualhost")


def top_level(tree: ConfigTree) -> Iterator[Statement]:
    """Yield the statements of the configuration outside of sections, with the contents of Includes, in
    reading order."""
    return walk(tree.statements, lambda statement: () if statement.is_section else statement.children)


def main_statements(tree: ConfigTree) -> list[Statement]:
    """Return the top-level statements of the main file itself."""
    main_files = [
        file
        for file in tree.files.values()
        if file.role is Role.MAIN and any(s.parent is None for s in file.statements)
    ]
    return [s for s in tree.statements if s.file is main_files[0]] if main_files else []


def lines_for_24(tree: ConfigTree, *names: str) -> Iterator[Statement]:
    """Yield all lines called *names* that 2.4 may read, those of its own branches too."""
    return (line for line in tree.named(*names, include_inactive=True) if line.in_24 is not False)


def reading_order(tree: ConfigTree) -> dict[Statement, int]:
    """Return the position of each statement in reading order."""
    order = tree.cache.get("positions")
    if not isinstance(order, dict):
        order = {line: at for at, line in enumerate(tree.all_statements())}
        tree.cache["positions"] = order
    return order


def is_24_config(tree: ConfigTree) -> bool:
    """Return True if the configuration loads modules that only 2.4 has: its missing directives have the
    defaults of 2.4 already."""
    cached = tree.cache.get("is new")
    if cached is None:
        cached = any(
            loads_24_module(line)
            for line in tree.named("loadmodule", include_inactive=True)
            if line.in_24 is not False
        )
        tree.cache["is new"] = cached
    return bool(cached)


def was_24_config(tree: ConfigTree) -> bool:
    """Return True if `is_24_config` held before the first edit."""
    persistent = tree.cache.setdefault("persistent", {})
    assert isinstance(persistent, dict)
    return bool(persistent.setdefault("was new", is_24_config(tree)))


def loads_24_module(line: Statement) -> bool:
    """Return True if a LoadModule line loads a module that only 2.4 has."""
    words = line.words()
    if not words or words[0] in THIRD_PARTY_22:
        return False
    return catalogue("2.2").module(words[0]) is None and catalogue("2.4").module(words[0]) is not None


def is_module_missing(tree: ConfigTree, module: str, line: Statement | None = None) -> bool:
    """Return True if the configuration loads modules, but 2.4 does not load *module* (an identifier).

    With *line*: not where it reads that line, whose conditions may be those under which the module is loaded.
    """
    if module in tree.modules_24 or not tree.has("loadmodule") or tree.modules_unread is not None:
        return False
    return line is None or not _implies_loaded(tree, module, line)


def is_loaded_under_condition(tree: ConfigTree, module: str) -> bool:
    """Return True if a line that 2.4 reads under some conditions loads *module* (an identifier)."""
    return any(True for _ in _loading_lines(tree, module))


def _loading_lines(tree: ConfigTree, module: str) -> Iterator[Statement]:
    return (line for line in lines_for_24(tree, "loadmodule") if line.words()[:1] == [module])


def _implies_loaded(tree: ConfigTree, module: str, line: Statement) -> bool:
    """Return True if the conditions of *line* hold only where *module* is loaded."""
    held = set(literals(line, None))
    if any(
        literal.positive and literal.condition.container == "ifmodule" and literal.condition.key == module
        for literal in held
    ):
        return True
    return any(set(literals(load, None)) <= held for load in _loading_lines(tree, module))
