"""R14: handlers that no loaded module implements. Document: documents/R14-unknown-handlers.md"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from whimbrel.catalogue import catalogue
from whimbrel.catalogue.handlers import handler_table, modules_of
from whimbrel.syntax.words import getword
from whimbrel.upgrade.apply.written_texts import is_written_by_upgrade
from whimbrel.upgrade.edits.diff import display_path
from whimbrel.upgrade.model import Finding, InputContext, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.modules.overriding_handlers import decided_programs, matches, overriding_lines
from whimbrel.upgrade.rules.modules.x24_successors import SUCCEEDED
from whimbrel.upgrade.source.branches import MPMS
from whimbrel.upgrade.source.config_tree import ConfigTree, Role, Statement
from whimbrel.upgrade.source.queries import lines_for_24, loads_24_module, was_24_config
from whimbrel.upgrade.source.walk import walk

_COMPUTED: Final = re.compile(r"[%$]")
_NEVER_RUN: Final = frozenset({"", "none", "default-handler"})
_SERVED: Final = frozenset({"core", "http_core"})


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the lines with such a handler, of configurations that load modules, and the first line of each
    section that goes with the module of its handler."""
    if tree.context is not InputContext.SERVER or not tree.has("loadmodule"):
        return
    yield from _skipped_sections(tree)
    loaded = _loaded_files(tree)
    actions = {word.lower() for line in lines_for_24(tree, "action") for word in line.words()[:1]}
    for line in lines_for_24(tree, "addhandler", "sethandler"):
        name = next(iter(line.words()), "").lower()
        if (
            line.file.role is Role.FRAGMENT
            or name in _NEVER_RUN
            or name in actions
            or _COMPUTED.search(name)
            or not loaded.isdisjoint(modules_of(name, "2.4"))
            or _is_replaced(sections := overriding_lines(tree, line), line, loaded)
            or not tree.shows(line.place, name)
            or _may_be_foreign(tree, name)
            or _is_sent_by_22(tree, line, name)
            or any(map(_tests_foreign, line.enclosing("<ifmodule")))
        ):
            continue
        yield _finding(line, name, _others(tree, line, sections))


def _may_be_foreign(tree: ConfigTree, name: str) -> bool:
    """Return True if a module is loaded whose handlers are not known: it may have the handler *name*."""
    if modules_of(name, "2.2") or modules_of(name, "2.4"):
        return False
    tables = (handler_table(version).values() for version in ("2.2", "2.4"))
    own = {row.file for version in ("2.2", "2.4") for row in catalogue(version).modules}
    known = own.union(*(files for table in tables for files in table), _SERVED)
    return not _files_of_lines(tree) <= known


def _is_sent_by_22(tree: ConfigTree, line: Statement, name: str) -> bool:
    """Return True if 2.2 sends these files as they are, too: it loads no module with the handler either.

    Of a text of 2.4 that is known if an upgrade wrote it, which keeps the modules of handlers.
    """
    if was_24_config(tree) and not _is_written_by_upgrade(tree, line):
        return False
    owners = set(modules_of(name, "2.2"))
    if not owners and not modules_of(name, "2.4"):
        return True  # and `_may_be_foreign` has looked for a module that may have it
    own = [row for row in catalogue("2.2").modules if row.file in owners]
    return len(own) == len(owners) > 0 and not any(row.identifier in tree.modules for row in own)


def _is_written_by_upgrade(tree: ConfigTree, line: Statement) -> bool:
    """Return True if an upgrade wrote the file of *line*, or those that load the modules of 2.4."""
    if is_written_by_upgrade(line.place.path, tree.root):
        return True
    paths = {one.place.path for one in lines_for_24(tree, "loadmodule") if loads_24_module(one)}
    return bool(paths) and all(is_written_by_upgrade(path, tree.root) for path in paths)


def _tests_foreign(section: Statement) -> bool:
    """Return True if *section* is read with a third-party module alone, which has its handlers itself."""
    name = getword(section.args)[0]
    own = (row for version in ("2.2", "2.4") for row in catalogue(version).modules)
    return (
        not name.startswith("!")
        and name not in MPMS
        and all(name not in (row.identifier, row.source) for row in own)
    )


def _skipped_sections(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the lines that choose a handler in sections of modules that have no release for 2.4."""
    gone: dict[str, str] = {}
    for line in tree.named("loadmodule"):
        words = line.words()
        if len(words) == 2 and words[0] in SUCCEEDED:
            file = words[1].rpartition("/")[2].removesuffix(".so")
            names = words[0], f"mod_{words[0].removesuffix('_module')}.c", f"{file}.c"
            gone |= dict.fromkeys(names, words[0])
    for section in tree.named("<ifmodule") if gone else ():
        module = gone.get(getword(section.args)[0], "")
        first = next((line for line in walk(section.children) if _is_of_programs(line)), None)
        if module and first is not None:
            text = f"{first.node.name} {' '.join(first.args.split())}"
            yield Finding(
                "R14",
                first.place,
                f"{module} has no release for 2.4: without it 2.4 skips this section, and sends the files of "
                f"`{text}` as they are, with the text of programs in them",
                "name a handler that 2.4 has before, such as proxy:fcgi:// of mod_proxy_fcgi",
                Risk.OPENS,
            )


def _is_of_programs(line: Statement) -> bool:
    """Return True if *line* gives files a handler, by a type of PHP too."""
    words = line.words()
    is_type = line.name == "addtype" and words[:1] and words[0].lower().startswith("application/x-httpd-")
    return line.name in ("addhandler", "sethandler", "action") or bool(is_type)


def _loaded_files(tree: ConfigTree) -> set[str]:
    """Return the base names of the module files that 2.4 has, without their endings."""
    rows = (catalogue("2.4").module(identifier) for identifier in tree.modules_24)
    return _files_of_lines(tree) | {row.file for row in rows if row is not None} | _SERVED


def _files_of_lines(tree: ConfigTree) -> set[str]:
    """Return the base names of the files of LoadModule lines; PHP's without the minor version."""
    paths = (line.words()[1] for line in lines_for_24(tree, "loadmodule") if len(line.words()) == 2)
    files = (path.rpartition("/")[2].removesuffix(".so") for path in paths)
    return {re.sub(r"^(libphp[57]?)[\d.]*$", r"\1", file) for file in files}


def _is_replaced(sections: Iterable[tuple[Statement, Statement]], line: Statement, loaded: set[str]) -> bool:
    """Return True if SetHandler lines for the names of these files replace the handler, as they do for
    PHP-FPM, by one that 2.4 has."""
    endings = line.words()[1:]
    if line.name != "addhandler" or not endings:
        return False
    able = [section for section, other in sections if _is_able(other, loaded)]
    return all(any(matches(one, f"x.{end.lstrip('.')}") for one in able) for end in endings)


def _is_able(line: Statement, loaded: set[str]) -> bool:
    """Return True if a SetHandler line names a handler of a loaded module."""
    name = line.words()[0].lower()
    return name.startswith("proxy:") or not loaded.isdisjoint(modules_of(name, "2.4"))


def _others(tree: ConfigTree, line: Statement, sections: list[tuple[Statement, Statement]]) -> str:
    """Return what other lines decide for the names of programs, as the end of a sentence; "" for none."""
    if line.name != "sethandler":
        return ""
    found: dict[Statement, list[str]] = {}
    for ending, other in decided_programs(sections):
        found.setdefault(other, []).append(ending)
    return "".join(
        f"; {', '.join(endings)} files have `SetHandler {' '.join(other.args.split())}` of "
        f"{display_path(other.place.path, tree.root)}:{other.place.line}, which httpd merges later"
        for other, endings in found.items()
    )


def _finding(line: Statement, name: str, others: str) -> Finding:
    owners = modules_of(name, "2.4")
    of = f" of {owners[0]}" if owners else ""
    return Finding(
        "R14",
        line.place,
        f"no loaded module has the handler {name}{of}: 2.4 sends the files as they are, with the text of "
        f"programs in them{others}",
        "load its module, name a handler that a loaded module has, or remove the line",
        Risk.OPENS,
    )


RULE = Rule("R14", "unknown-handlers", "Handlers that no loaded module implements", check)
