"""The lines of files without their server that one version refuses.

A file is loaded into a server that has all modules of httpd, so that only what no server accepts is found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from whimbrel.base.dialect import V24, Dialect
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.catalogue import Catalogue
from whimbrel.config.execute import IN_MAIN_FILE, IN_SECTION
from whimbrel.config.load import catalogue_of
from whimbrel.config.options import LoadOptions
from whimbrel.syntax import tree
from whimbrel.syntax.lines import V22_LINES, V24_LINES
from whimbrel.syntax.tree import Directive, Node, Section
from whimbrel.upgrade.check.loading import (
    MAX_LINES,
    LoadedTexts,
    RefusedLine,
    htaccess_problems,
    load,
    without,
)
from whimbrel.upgrade.check.server_with_all import MAIN, server_with_all
from whimbrel.upgrade.source.config_tree import Role, SourceFile
from whimbrel.upgrade.source.queries import BRANCH_SECTIONS

ACCESS_COMPAT: Final = ("order", "allow", "deny", "satisfy")
"""Names of mod_access_compat, which rules mark where they stay."""
_NOT_ALLOWED: Final = "not allowed here"
_OF_OTHERS: Final = (
    "Unknown Authn provider",
    "Unknown DAV provider",
    "not defined",
    "cannot be accessed",
)
"""Parts of messages about lines that other surroundings than those of a file alone may admit, wherever they
stand."""
_WITHOUT_ACCESS_COMPAT: Final = ("!mod_access_compat.c", "!access_compat_module")


def lone_problems(texts: LoadedTexts) -> Iterator[RefusedLine]:
    """Yield the lines that no server accepts, under the surroundings that the branches of a file test."""
    seen: set[tuple[str, int]] = set()
    for options in _surroundings(texts):
        configuration, _problem_of_all = load(options, texts.dialect)
        if configuration is None:
            return
        for file in texts.tree.files.values():
            if file.foreign or file.is_template:
                continue
            for problem in (
                htaccess_problems(texts, configuration, file)
                if file.role is Role.HTACCESS
                else _fragment_problems(texts, options, file)
            ):
                place = (problem.place.path, problem.place.line) if problem.place is not None else ("", 0)
                if place not in seen and problem.name.lower() not in ACCESS_COMPAT:
                    seen.add(place)
                    yield problem


def _surroundings(texts: LoadedTexts) -> Iterator[LoadOptions]:
    """Yield servers with all modules of httpd: plain; where a branch tests for them, without
    mod_access_compat, and with all names defined."""
    catalogue = catalogue_of(texts.dialect)
    yield server_with_all(catalogue, frozenset(), frozenset())
    tests = [(line.name, line.args.strip().strip('"')) for line in texts.tree.all_statements()]
    names = frozenset(args.lstrip("!") for name, args in tests if name == "<ifdefine")
    if texts.dialect is V24 and any(
        name == "<ifmodule" and args.lower() in _WITHOUT_ACCESS_COMPAT for name, args in tests
    ):
        yield server_with_all(catalogue, frozenset(("access_compat_module",)), frozenset())
    if names:
        yield server_with_all(catalogue, frozenset(), names)


def _fragment_problems(texts: LoadedTexts, options: LoadOptions, file: SourceFile) -> Iterator[RefusedLine]:
    """Yield the problems of a file that an unknown server includes: of its lines for servers at the top
    level, of those for directories alone in a <Directory>."""
    data = texts.data(file)
    include = b'Include "' + to_bytes(file.path) + b'"\n'
    of_server = _lines_for(IN_MAIN_FILE, data, texts.dialect)
    yield from _included_problems(texts, options, file, of_server, include)
    if of_server != data:
        of_directory = _lines_for(IN_SECTION, data, texts.dialect)
        section = b'<Directory "/">\n' + include + b"</Directory>\n"
        yield from _included_problems(texts, options, file, of_directory, section)
        if of_directory != data:  # no place admits all lines
            yield from _included_problems(texts, options, file, data, include, is_complete=True)


def _lines_for(context: int, data: bytes, dialect: Dialect) -> bytes:
    """Return the text without the lines outside of sections that *dialect* refuses in *context*."""
    nodes = list(tree.parse(data, V24_LINES if dialect is V24 else V22_LINES).children)
    text = bytearray(data)
    for start, end in _spans_of_others(nodes, context, catalogue_of(dialect)):
        text[start:end] = re.sub(rb"[^\n]", b" ", text[start:end])
    return bytes(text)


def _spans_of_others(nodes: Iterable[Node], context: int, catalogue: Catalogue) -> Iterator[tuple[int, int]]:
    for node in nodes:
        if not isinstance(node, Directive | Section):
            continue
        name = node.name.lower() if isinstance(node, Directive) else f"<{node.name.lower()}"
        rows = catalogue.find(name)
        if name in BRANCH_SECTIONS and isinstance(node, Section):
            yield from _spans_of_others(node.children, context, catalogue)
        elif rows and not any(row.where & context for row in rows):
            yield node.start, node.end


def _included_problems(
    texts: LoadedTexts,
    options: LoadOptions,
    file: SourceFile,
    data: bytes,
    include: bytes,
    *,
    is_complete: bool = False,
) -> Iterator[RefusedLine]:
    """Yield the problems of the text *data* of a file that the lines *include* add to a server; those of
    directives that stand at a wrong place only if *is_complete*."""
    admitted = _OF_OTHERS if is_complete else (_NOT_ALLOWED, *_OF_OTHERS)
    overlay = {file.path: data}
    text = options.overlay[MAIN] + include
    for _ in range(MAX_LINES):
        _, problem = load(replace(options, overlay={**overlay, MAIN: text}), texts.dialect)
        if problem is None or problem.place is None or problem.place.path != file.path:
            return
        if not any(part in problem.text for part in admitted) and not _is_of_another_mpm(texts, problem):
            yield problem
        rest = without(texts, problem, overlay)
        if rest is None:
            return
        overlay[file.path] = rest


def _is_of_another_mpm(texts: LoadedTexts, problem: RefusedLine) -> bool:
    """Return True for a directive of a module of httpd that cannot be loaded beside the others."""
    return bool(problem.name) and bool(catalogue_of(texts.dialect).find(problem.name.lower()))
