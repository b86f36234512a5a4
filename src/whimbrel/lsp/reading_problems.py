"""Lines that neither version reads: unknown names, wrong places, wrong numbers of arguments.

The catalogue decides, line by line, so that all of them are found at once; what only a whole configuration
shows is found by the check.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.catalogue import DirectiveEntry, catalogue
from whimbrel.catalogue.load import VERSIONS, directive_names
from whimbrel.catalogue.third_party import product_of_directive
from whimbrel.cli.fmt import spelled
from whimbrel.directives.shapes import shape
from whimbrel.directives.spec import Args
from whimbrel.lsp.line_contexts import FileKind, LineContext, context_in, section_key
from whimbrel.syntax.tree import Directive, Document, Malformed, Node, Section
from whimbrel.upgrade.source.text_faults import FaultKind, faults_and_template

OPAQUE: Final = ("<perl", "<lua", "<luahook", "<macro")
"""Sections with text of another language, or with parameters in names and arguments."""
MIN_SIMILARITY: Final = 0.85
MAX_PROBLEMS: Final = 200
"""Problems of one file; an editor shows a page of them."""
VARIABLE: Final = "${"

Rows = tuple[tuple[str, DirectiveEntry], ...]
"""Rows of a directive, each with its version."""


@dataclass(frozen=True, slots=True)
class ReadingProblem:
    """One line that is not read.

    Attributes:
        node: the line, None for the whole text.
        message: as httpd words it, where httpd has words for it.
        name: the name to write in place of the one that is there, "" if none is known.
        is_certain: no module that Whimbrel does not know can admit the line.
    """

    node: Node | None
    message: str
    name: str = ""
    is_certain: bool = True


def reading_problems(document: Document, kind: FileKind) -> Iterator[ReadingProblem]:
    """Yield the problems of a file in order; a text that is no configuration has one."""
    faults = faults_and_template(document.bytes)
    if any(fault.kind.is_unreadable for fault in faults):
        yield ReadingProblem(None, str(faults[0]))
        return
    if any(fault.kind is FaultKind.TEMPLATE for fault in faults):
        return
    judge = _Judge(kind)
    count = 0
    for node, names in _lines(document):
        problem = judge.problem(node, names)
        if problem is not None:
            yield problem
            count += 1
            if count == MAX_PROBLEMS:
                return


def _lines(document: Document) -> Iterator[tuple[Node, tuple[str, ...]]]:
    """Yield the lines with the names of the sections around them; contents of OPAQUE sections are left
    out."""
    waiting: list[tuple[Node, tuple[str, ...]]] = [(node, ()) for node in reversed(document.children)]
    while waiting:
        node, names = waiting.pop()
        yield node, names
        if isinstance(node, Section) and section_key(node.name) not in OPAQUE:
            inside = (*names, node.name)
            waiting += [(child, inside) for child in reversed(node.children)]


class _Judge:
    """Judge of lines; keeps the rows of each name for one file."""

    def __init__(self, kind: FileKind) -> None:
        self.kind = kind
        self._rows: dict[str, Rows] = {}

    def problem(self, node: Node, names: tuple[str, ...]) -> ReadingProblem | None:
        if isinstance(node, Malformed):
            return ReadingProblem(node, node.reason)
        if not isinstance(node, Directive | Section):
            return None
        name = f"<{node.name}" if isinstance(node, Section) else node.name
        rows = self._rows.get(name)
        if rows is None:
            rows = rows_of(name)
            self._rows[name] = rows
        if not rows:
            return _unknown(node, name)
        context = context_in(self.kind, names)
        refusals = [_refusal(row, version, node, context) for version, row in rows]
        return ReadingProblem(node, refusals[-1]) if all(refusals) else None


def rows_of(name: str) -> Rows:
    """Return the rows of a directive in both versions."""
    return tuple((version, row) for version in VERSIONS for row in catalogue(version).find(name))


def _refusal(row: DirectiveEntry, version: str, node: Directive | Section, context: LineContext) -> str:
    """Return why *version* refuses the line, "" if it reads it."""
    refused = context.refusal(row, version)
    if refused or isinstance(node, Section) or VARIABLE in node.args:
        return refused
    try:
        shape(
            Args[row.args],
            node.args,
            name=row.name,
            help=row.help,
            iterate_needs_one=version != "2.2",
        )
    except ConfigError as problem:
        return problem.reason
    return ""


def _unknown(node: Directive | Section, name: str) -> ReadingProblem | None:
    """Return the problem of an unknown name, None for that of a known product."""
    if VARIABLE in name or product_of_directive(name) is not None or _is_own(name):
        return None
    names = directive_names()
    close = get_close_matches(name.lower(), names, 1, MIN_SIMILARITY) if len(name) < 80 else []
    message = (
        f"Invalid command '{name}', perhaps misspelled or defined by a module not included in the server "
        "configuration"
    )
    is_same_kind = bool(close) and (close[0][:1] == "<") == (name[:1] == "<")
    return ReadingProblem(
        node, message, (spelled(close[0]) or names[close[0]]) if is_same_kind else "", bool(close)
    )


def _is_own(name: str) -> bool:
    """Return True for a directive that Whimbrel has and httpd has not."""
    return any(row.name.lower() == name.lower() for row in catalogue("2.4").module_rows("whimbrel.c"))
