"""Completion: names of directives that the place admits, closing tags, and arguments."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from lsprotocol.types import CompletionItem, CompletionItemKind, CompletionList, TextEdit

from whimbrel.base.numbers import is_blank, lower, split
from whimbrel.catalogue import DirectiveEntry, catalogue
from whimbrel.catalogue.load import VERSIONS
from whimbrel.cli.fmt import spelled
from whimbrel.lsp.analysis import FileAnalysis
from whimbrel.lsp.completed_arguments import Proposal, proposals
from whimbrel.lsp.cursor import Cursor, is_text
from whimbrel.lsp.documents import DocumentStore
from whimbrel.lsp.line_contexts import FileKind, context_in
from whimbrel.lsp.positions import shown

MAX_ITEMS: Final = 1000
TRIGGERS: Final = ("<", "/", "{", '"')
"""Characters behind which an editor asks."""


def completions(
    cursor: Cursor, kind: FileKind, analysis: FileAnalysis | None, store: DocumentStore
) -> CompletionList:
    """Return what may be written at the cursor."""
    before = cursor.before
    if is_text(cursor.piece) and not before.startswith("</"):
        return CompletionList(False, [])
    name = split(before, 1)[0] if before else ""
    if not any(map(is_blank, before)) or not name:
        found = _closing_tags(cursor, before) if before.startswith("</") else _names(cursor, kind, before)
        items = [_item(cursor, len(before), one) for one in found]
    else:
        items = [
            _item(cursor, typed, one)
            for typed, one in proposals(cursor, lower(name), before, analysis, store)
        ]
    return CompletionList(len(items) > MAX_ITEMS, items[:MAX_ITEMS])


def _item(cursor: Cursor, typed: int, one: Proposal) -> CompletionItem:
    """Return a proposal that replaces the last *typed* bytes before the cursor."""
    place = cursor.document.lines.range(cursor.offset - typed, cursor.offset)
    label = shown(one.text)
    return CompletionItem(
        label,
        kind=one.kind,
        detail=shown(one.detail) or None,
        sort_text=f"{one.order}{label.lower()}",
        filter_text=label,
        text_edit=TextEdit(place, label),
    )


def _closing_tags(cursor: Cursor, before: str) -> Iterator[Proposal]:
    """Yield the tag that closes the innermost section, then those around it."""
    for order, section in enumerate(reversed(cursor.sections)):
        text = f"</{section.name}>"
        if text.lower().startswith(before.lower()):
            yield Proposal(text, CompletionItemKind.Keyword, "closes the section", str(min(order, 9)))


def _names(cursor: Cursor, kind: FileKind, before: str) -> Iterator[Proposal]:
    """Yield the directives that some version admits at the place."""
    beginning = lower(before)
    sections = [one for one in cursor.sections if one is not cursor.piece]
    context = context_in(kind, [section.name for section in sections])
    for name, rows in all_names().items():
        if not name.startswith(beginning):
            continue
        versions = [version for version, row in rows if not context.refusal(row, version)]
        if versions:
            yield _proposal(rows, dict.fromkeys(versions))


@cache
def all_names() -> dict[str, tuple[tuple[str, DirectiveEntry], ...]]:
    """Return the rows of all directives by their names in lower case."""
    found: dict[str, tuple[tuple[str, DirectiveEntry], ...]] = {}
    for version in VERSIONS:
        for row in catalogue(version):
            found[row.name.lower()] = (*found.get(row.name.lower(), ()), (version, row))
    return dict(sorted(found.items()))


def _proposal(rows: tuple[tuple[str, DirectiveEntry], ...], versions: dict[str, None]) -> Proposal:
    row = rows[-1][1]
    only = f", {' '.join(versions)} alone" if len(versions) == 1 else ""
    kind = CompletionItemKind.Struct if row.name[:1] == "<" else CompletionItemKind.Property
    order = "1" if "2.4" in versions else "2"
    return Proposal(spelled(row.name) or row.name, kind, f"{row.source.removesuffix('.c')}{only}", order)
