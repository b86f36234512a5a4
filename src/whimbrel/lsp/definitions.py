"""Definitions: the files of an Include, the Define of a variable, the <Macro> of a Use."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

from lsprotocol.types import Location

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.numbers import lower
from whimbrel.lsp.analysis import FileAnalysis
from whimbrel.lsp.cursor import Cursor, line_range
from whimbrel.lsp.declarations import MACRO, VARIABLE, Declaration, declarations, find
from whimbrel.lsp.documents import DocumentStore, uri_of
from whimbrel.lsp.paths import OF_FILES, absolute, expanded, included_files
from whimbrel.lsp.paths import VARIABLE as VARIABLE_TEXT
from whimbrel.syntax.tree import Directive, Section

INCLUDES: Final = ("include", "includeoptional")
TESTS: Final = ("ifdefine", "undefine")


def variable_at(cursor: Cursor) -> str:
    """Return the name of the ``${NAME}`` under the cursor, "" for none."""
    data = cursor.document.data
    start = data.rfind(b"\n", 0, cursor.offset) + 1
    end = data.find(b"\n", cursor.offset)
    line = to_text(data[start : end if end >= 0 else len(data)])
    at = cursor.offset - start
    first = max(0, at - 1024)
    for match in VARIABLE_TEXT.finditer(line, first, at + 1024):
        if match.start() <= at <= match.end():
            return match[1]
    return ""


def definitions(cursor: Cursor, analysis: FileAnalysis | None, store: DocumentStore) -> list[Location]:
    """Return the places that define what is under the cursor."""
    document = cursor.document
    name = variable_at(cursor)
    if name:
        return _declared(find(declarations(document, analysis, store), VARIABLE, name))
    piece = cursor.piece
    if not isinstance(piece, Directive | Section) or cursor.is_on_name:
        return []
    word = cursor.word()[0]
    directive = lower(piece.name)
    if not word:
        return []
    if directive == "use":
        return _declared(find(declarations(document, analysis, store), MACRO, word))
    if directive in TESTS:
        wanted = word.rstrip(">").lstrip("!")
        return _declared(find(declarations(document, analysis, store), VARIABLE, wanted))
    key = directive if isinstance(piece, Directive) else f"<{directive}"
    if key not in OF_FILES:
        return []
    known = {one.name: one.value for one in declarations(document, analysis, store) if one.kind == VARIABLE}
    environment = analysis.options.environment if analysis is not None and analysis.options else {}
    path = absolute(expanded(word, lambda text: known.get(text) or environment.get(text)), document, analysis)
    files = included_files(path) if directive in INCLUDES else [path]
    return [_file(found, store) for found in files if os.path.isfile(to_bytes(found))]


def _declared(found: Iterable[Declaration]) -> list[Location]:
    return [
        Location(one.document.uri, one.document.lines.range(*line_range(one.document, one.node)))
        for one in found
    ]


def _file(path: str, store: DocumentStore) -> Location:
    target = store.at(path)
    return Location(target.uri if target.version is not None else uri_of(path), target.lines.range(0, 0))
