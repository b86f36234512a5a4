"""The outline of a document: its sections, a virtual host with its ServerName."""

from __future__ import annotations

from typing import Final

from lsprotocol.types import DocumentSymbol, SymbolKind

from whimbrel.base.numbers import lower
from whimbrel.lsp.cursor import line_range
from whimbrel.lsp.documents import TextDocument
from whimbrel.lsp.positions import shown
from whimbrel.syntax.tree import Directive, Node, Section
from whimbrel.syntax.words import getword

MAX_DEPTH: Final = 50
"""Sections within each other that are shown: an editor draws them with recursion."""
MAX_NAME: Final = 200
"""Characters of the name of a symbol."""
KINDS: Final = {
    "virtualhost": SymbolKind.Class,
    "macro": SymbolKind.Function,
    "ifmodule": SymbolKind.Namespace,
    "ifdefine": SymbolKind.Namespace,
    "ifversion": SymbolKind.Namespace,
}


def symbols(document: TextDocument) -> list[DocumentSymbol]:
    """Return the sections of *document*, each with those inside it."""
    found: list[DocumentSymbol] = []
    waiting: list[tuple[Node, list[DocumentSymbol], int]] = [
        (node, found, 1) for node in reversed(document.tree.children)
    ]
    while waiting:
        node, siblings, depth = waiting.pop()
        if not isinstance(node, Section):
            continue
        children: list[DocumentSymbol] = []
        siblings.append(_symbol(document, node, children))
        if depth < MAX_DEPTH:
            waiting += [(child, children, depth + 1) for child in reversed(node.children)]
    return found


def _symbol(document: TextDocument, node: Section, children: list[DocumentSymbol]) -> DocumentSymbol:
    name = shown(f"<{node.name} {node.args.rpartition('>')[0] or node.args}".strip())
    start, end = line_range(document, node)
    closed = line_range(document, node.close)[1] if node.close is not None else max(end, node.end)
    return DocumentSymbol(
        f"{name[:MAX_NAME].rstrip('>').rstrip()}>",
        KINDS.get(lower(node.name), SymbolKind.Object),
        document.lines.range(start, closed),
        document.lines.range(start, end),
        detail=_server_name(node),
        children=children,
    )


def _server_name(node: Section) -> str | None:
    """Return the ServerName of a virtual host."""
    if lower(node.name) != "virtualhost":
        return None
    lines = (child for child in node.children if isinstance(child, Directive))
    return next((shown(getword(line.args)[0]) for line in lines if lower(line.name) == "servername"), None)
