"""Findings about SSI conditions: the places whose files go through mod_include, and SSILegacyExprParser for
each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.upgrade.edits.helpers import insert_below
from whimbrel.upgrade.model import FileEdit, Finding, Risk, Safety
from whimbrel.upgrade.source.config_tree import ConfigTree, Role, Statement
from whimbrel.upgrade.source.htaccess import accepts_directive
from whimbrel.upgrade.source.queries import (
    has_same_scope,
    has_server_context,
    is_module_missing,
    lines_for_24,
    scope_of,
    server_of,
)

LEGACY: Final = "SSILegacyExprParser On"
EVERYWHERE: Final = ("<Directory />", f"    {LEGACY}", "</Directory>")
SOURCES: Final = (
    "addoutputfilter",
    "setoutputfilter",
    "addoutputfilterbytype",
    "addhandler",
    "sethandler",
    "addtype",
    "xbithack",
    "filterprovider",
)


DIRECTIVES: Final = (
    "xbithack",
    "ssiendtag",
    "ssierrormsg",
    "ssistarttag",
    "ssitimeformat",
    "ssiundefinedecho",
)
"""Directives of mod_include in 2.2: a server that starts with one has the module."""


def parses(line: Statement) -> bool:
    """Return True if *line* sends files through mod_include."""
    words = [word.lower() for word in line.words()]
    if not words:
        return False
    if line.name == "xbithack":
        return words[0] in ("on", "full")
    if line.name in ("addhandler", "sethandler", "addtype"):
        return words[0] in ("server-parsed", "text/x-server-parsed-html")
    return (
        "includes" in words[line.name == "filterprovider" :][0].split(";")
        if len(words) > (line.name == "filterprovider")
        else False
    )


def findings_of_conditions(tree: ConfigTree, rule: str) -> Iterator[Finding]:
    """Yield the findings of *rule*: C49 for directories of error documents, C35 for all other places.

    Each place with SSI has one finding; where the main server enables SSI, one finding covers all places.
    """
    return (finding for finding in _findings(tree) if finding.rule == rule)


def _has_mod_include(tree: ConfigTree) -> bool:
    """Return True if the 2.2 server has mod_include; without it, no version parses pages."""
    shown = any(line.file.role is not Role.HTACCESS for line in tree.named(*DIRECTIVES))
    known = not is_module_missing(tree, "include_module") or "include_module" in tree.built_in.modules
    return shown or known


def _findings(tree: ConfigTree) -> Iterator[Finding]:
    if not _has_mod_include(tree):
        return
    sources = [line for line in tree.named(*SOURCES) if parses(line)]
    main = [line for line in sources if has_server_context(line) and server_of(line) is None]
    if main:
        if not _has_legacy_parser(tree, None):
            yield _finding("C35", main[0], insert_below(tree, main[0], EVERYWHERE), Safety.SAFE)
        return
    errors = set(_error_directories(tree))
    done: list[Statement] = []
    for line in sources:
        if any(has_same_scope(line, other) for other in done):
            continue
        done.append(line)
        yield from _place_findings(tree, line, errors)


def _place_findings(tree: ConfigTree, line: Statement, errors: set[str]) -> Iterator[Finding]:
    if line.file.role is Role.FRAGMENT and scope_of(line) is None:
        yield _finding("C35", line, (), Safety.MANUAL)
    elif has_server_context(line):
        if not _has_legacy_parser(tree, server_of(line)):
            yield _finding("C35", line, insert_below(tree, line, EVERYWHERE), Safety.SAFE)
    elif not any(has_same_scope(line, other) for other in lines_for_24(tree, "ssilegacyexprparser")):
        scope = scope_of(line)
        directory = (
            scope.args.strip().strip('"').rstrip("/")
            if scope is not None and scope.name == "<directory"
            else ""
        )
        rule = "C49" if directory in errors else "C35"
        unsure = rule == "C49" or line.file.role is Role.HTACCESS
        if accepts_directive(tree, line, "limit"):
            yield _finding(
                rule, line, insert_below(tree, line, [LEGACY]), Safety.REVIEW if unsure else Safety.SAFE
            )
        else:
            yield _finding(rule, line, (), Safety.MANUAL)


def _finding(rule: str, line: Statement, edits: tuple[FileEdit, ...], safety: Safety) -> Finding:
    advice = f"write {LEGACY}, or rewrite the conditions"
    if rule == "C49":
        advice = f"write {LEGACY} for error documents that came with 2.2; remove the line for those of 2.4"
    elif line.file.role is Role.HTACCESS:
        advice = f"write {LEGACY}, which needs AllowOverride Limit here, or rewrite the conditions"
    return Finding(
        rule,
        line.place,
        "2.4 parses SSI conditions (#if expr) with another parser",
        advice,
        Risk.CHANGES,
        safety,
        edits,
    )


def _has_legacy_parser(tree: ConfigTree, server: Statement | None) -> bool:
    """Return True if *server*, or the main server, has the old parser everywhere."""
    for line in lines_for_24(tree, "ssilegacyexprparser"):
        scope = scope_of(line)
        if (
            scope is not None
            and scope.name == "<directory"
            and scope.args.strip().strip('"') == "/"
            and server_of(line) in (server, None)
        ):
            return True
    return False


def _error_directories(tree: ConfigTree) -> Iterator[str]:
    """Yield the directories of the error documents."""
    urls = [
        words[1]
        for line in tree.named("errordocument")
        if len(words := line.words()) > 1 and words[1].startswith("/")
    ]
    for line in tree.named("alias"):
        words = line.words()
        if len(words) == 2 and any(url.startswith(words[0].rstrip("/") + "/") for url in urls):
            yield words[1].rstrip("/")
