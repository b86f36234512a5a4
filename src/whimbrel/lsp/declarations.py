"""Names that lines declare: variables of Define, macros."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import lower
from whimbrel.lsp.analysis import FileAnalysis
from whimbrel.lsp.documents import DocumentStore, TextDocument
from whimbrel.syntax.tree import Directive, Section
from whimbrel.syntax.words import getword

VARIABLE: Final = "define"
MACRO: Final = "macro"
MAX_FILES: Final = 1000
"""Files of a server that are searched."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """One declaration.

    Attributes:
        kind: VARIABLE or MACRO.
        name: as written; that of a macro has no case.
        value: of a variable, or the parameters of a macro.
    """

    kind: str
    name: str
    value: str
    document: TextDocument
    node: Directive | Section


def declarations(
    document: TextDocument, analysis: FileAnalysis | None, store: DocumentStore
) -> Iterator[Declaration]:
    """Yield the declarations of *document*, then those of the other files of its server."""
    yield from _of_document(document)
    if analysis is None or analysis.tree is None:
        return
    own = analysis.file_of(document.path)
    for path, file in list(analysis.tree.files.items())[:MAX_FILES]:
        if file is not own and _may_declare(file.document.bytes):
            yield from _of_document(store.at(path))


def _may_declare(data: bytes) -> bool:
    low = data.lower()
    return b"define" in low or b"<macro" in low


def _of_document(document: TextDocument) -> Iterator[Declaration]:
    if not _may_declare(document.data):
        return
    for node in document.tree.walk():
        if isinstance(node, Directive) and lower(node.name) == VARIABLE:
            name, at = getword(node.args)
            yield Declaration(VARIABLE, name, getword(node.args, at)[0], document, node)
        elif isinstance(node, Section) and lower(node.name) == MACRO:
            name, at = getword(node.args.rpartition(">")[0] or node.args)
            yield Declaration(MACRO, name, node.args[at:].removesuffix(">"), document, node)


def find(wanted: Iterator[Declaration], kind: str, name: str) -> Iterator[Declaration]:
    """Yield the declarations of a name; the names of macros have no case."""
    for one in wanted:
        if one.kind == kind and (one.name == name or (kind == MACRO and lower(one.name) == lower(name))):
            yield one
