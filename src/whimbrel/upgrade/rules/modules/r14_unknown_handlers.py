"""R14: handlers that no loaded module implements. Document: documents/R14-unknown-handlers.md"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from whimbrel.base.regex import RegexError, compile_regex
from whimbrel.catalogue import catalogue
from whimbrel.catalogue.handlers import modules_of
from whimbrel.catalogue.third_party import find_module
from whimbrel.syntax.words import getword
from whimbrel.upgrade.model import Finding, InputContext, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.modules.x24_successors import SUCCEEDED
from whimbrel.upgrade.source.config_tree import ConfigTree, Role, Statement
from whimbrel.upgrade.source.queries import lines_for_24

_COMPUTED: Final = re.compile(r"[%$]")
_NEVER_RUN: Final = frozenset({"", "none", "default-handler"})
_SERVED: Final = frozenset({"core", "http_core"})


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the lines with such a handler, of configurations that load modules."""
    if tree.context is not InputContext.SERVER or not tree.has("loadmodule"):
        return
    gone = _gone_modules(tree)
    loaded = _loaded_files(tree, gone)
    actions = set()
    for line in lines_for_24(tree, "action"):
        owner = next((module for module in gone if _is_read_with(line, module)), None)
        if owner is None:
            actions |= set(map(str.lower, line.words()[:1]))
        else:
            yield _lost(line, owner)
    for line in lines_for_24(tree, "addhandler", "sethandler"):
        name = next(iter(line.words()), "").lower()
        if (
            line.file.role is Role.FRAGMENT
            or name in _NEVER_RUN
            or name in actions
            or _COMPUTED.search(name)
            or not loaded.isdisjoint(modules_of(name, "2.4"))
            or _goes_to_proxy(tree, line)
        ):
            continue
        owners = modules_of(name, "2.4")
        if not _is_read_with_owner(
            line, [owner for owner in owners if owner not in gone], is_known=bool(owners)
        ):
            yield _finding(line, name, owners)


def _gone_modules(tree: ConfigTree) -> set[str]:
    """Return the files of the modules that 2.2 loads and for which 2.4 has a successor only."""
    lines = (line.words() for line in tree.named("loadmodule"))
    return {
        words[1].rpartition("/")[2].removesuffix(".so")
        for words in lines
        if len(words) == 2 and words[0] in SUCCEEDED
    }


def _is_read_with_owner(line: Statement, owners: list[str], *, is_known: bool) -> bool:
    """Return True if *line* is read only where the module is loaded that has its handler.

    The handlers of a module that no catalogue names are not known: those in its section are taken for its own.
    """
    if is_known:
        return any(_is_read_with(line, owner) for owner in owners)
    modules = {row.source for row in catalogue("2.4").modules} | {
        row.identifier for row in catalogue("2.4").modules
    }
    tested = (getword(section.args)[0].strip() for section in line.enclosing("<ifmodule"))
    return any(name[:1] != "!" and name not in modules and find_module(name) is None for name in tested)


def _is_read_with(line: Statement, file: str) -> bool:
    """Return True if a section around *line* tests for the module in *file*."""
    return any(
        _module_file(getword(section.args)[0].strip()) == file for section in line.enclosing("<ifmodule")
    )


def _module_file(name: str) -> str:
    """Return the file of the module that an <IfModule> section tests for, "" for the absence of one."""
    found = None if name[:1] == "!" else find_module(name)
    return found[1].file if found is not None else name.removesuffix(".c")


def _lost(line: Statement, owner: str) -> Finding:
    return Finding(
        "R14",
        line.place,
        f"this line is read only with {owner}, which was built for 2.2: without it 2.4 sends these files as "
        "they are, with the text of programs in them",
        "give the files a handler of 2.4 before the LoadModule line goes",
        Risk.OPENS,
    )


def _loaded_files(tree: ConfigTree, gone: set[str]) -> set[str]:
    """Return the base names of the module files that 2.4 has, without their endings."""
    rows = (catalogue("2.4").module(identifier) for identifier in tree.modules_24)
    paths = (line.words()[1] for line in lines_for_24(tree, "loadmodule") if len(line.words()) == 2)
    files = {path.rpartition("/")[2].removesuffix(".so") for path in paths} - gone
    return (
        files
        | {re.sub(r"^(libphp[57]?)[\d.]*$", r"\1", file) for file in files}
        | {row.file for row in rows if row is not None}
        | _SERVED
    )


def _goes_to_proxy(tree: ConfigTree, line: Statement) -> bool:
    """Return True if a SetHandler line for the names of these files replaces the handler, as it does for
    PHP-FPM."""
    endings = line.words()[1:]
    if line.name != "addhandler" or not endings:
        return False
    patterns = [
        section.args.strip().strip('"')
        for other in lines_for_24(tree, "sethandler")
        if "".join(other.words()[:1]).lower().startswith("proxy:")
        for section in other.enclosing("<filesmatch")
    ]
    return all(any(_matches(one, f"x.{end.lstrip('.')}") for one in patterns) for end in endings)


def _matches(pattern: str, name: str) -> bool:
    try:
        return compile_regex(pattern).search(name) is not None
    except RegexError:
        return False


def _finding(line: Statement, name: str, owners: tuple[str, ...]) -> Finding:
    of = f" of {owners[0]}" if owners else ""
    return Finding(
        "R14",
        line.place,
        f"no loaded module has the handler {name}{of}: 2.4 sends the files as they are, with the text of "
        "programs in them",
        "load its module, name a handler that a loaded module has, or remove the line",
        Risk.OPENS,
    )


RULE = Rule("R14", "unknown-handlers", "Handlers that no loaded module implements", check)
