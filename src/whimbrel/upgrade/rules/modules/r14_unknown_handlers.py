"""R14: handlers that no loaded module implements. Document: documents/R14-unknown-handlers.md"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from whimbrel.base.regex import RegexError, compile_regex
from whimbrel.catalogue import catalogue
from whimbrel.catalogue.handlers import modules_of
from whimbrel.upgrade.model import Finding, InputContext, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree, Role, Statement
from whimbrel.upgrade.source.queries import lines_for_24

_COMPUTED: Final = re.compile(r"[%$]")
_NEVER_RUN: Final = frozenset({"", "none", "default-handler"})
_SERVED: Final = frozenset({"core", "http_core"})


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the lines with such a handler, of configurations that load modules."""
    if tree.context is not InputContext.SERVER or not tree.has("loadmodule"):
        return
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
            or _goes_to_proxy(tree, line)
        ):
            continue
        yield _finding(line, name)


def _loaded_files(tree: ConfigTree) -> set[str]:
    """Return the base names of the module files that 2.4 has, without their endings."""
    rows = (catalogue("2.4").module(identifier) for identifier in tree.modules_24)
    paths = (line.words()[1] for line in lines_for_24(tree, "loadmodule") if len(line.words()) == 2)
    files = {path.rpartition("/")[2].removesuffix(".so") for path in paths}
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


def _finding(line: Statement, name: str) -> Finding:
    owners = modules_of(name, "2.4")
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
