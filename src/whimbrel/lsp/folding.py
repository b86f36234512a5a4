"""Ranges that an editor folds: sections, and comments of more than one line."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol.types import FoldingRange, FoldingRangeKind

from whimbrel.lsp.documents import TextDocument
from whimbrel.syntax.tree import Comment, Section


def folding_ranges(document: TextDocument) -> list[FoldingRange]:
    """Return the ranges; the closing tag of a section stays visible."""
    return [*_sections(document), *_comments(document)]


def _sections(document: TextDocument) -> Iterator[FoldingRange]:
    for node in document.tree.walk():
        if isinstance(node, Section):
            first = document.lines.position(node.start).line
            end = node.close.start if node.close is not None else node.end
            last = document.lines.position(max(end - 1, node.start)).line
            if last > first:
                yield FoldingRange(first, last, kind=FoldingRangeKind.Region)


def _comments(document: TextDocument) -> Iterator[FoldingRange]:
    """Yield the runs of comments without other lines between them."""
    first = -1
    last = -1
    end = -1
    for node in document.tree.walk():
        if not isinstance(node, Comment):
            continue
        if node.start != end:
            if last > first:
                yield FoldingRange(first, last, kind=FoldingRangeKind.Comment)
            first = document.lines.position(node.start).line
        last = document.lines.position(max(node.end - 1, node.start)).line
        end = node.end
    if last > first:
        yield FoldingRange(first, last, kind=FoldingRangeKind.Comment)
