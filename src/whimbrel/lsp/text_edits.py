"""Edits of an editor that turn one text into another, line by line."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Final

from lsprotocol.types import TextEdit

from whimbrel.lsp.documents import TextDocument
from whimbrel.lsp.positions import editor_text

MAX_COMPARED: Final = 20_000
"""Lines between the first and the last change above which they are one edit."""


def edits_to(document: TextDocument, data: bytes) -> list[TextEdit]:
    """Return the edits that make *data* of *document*; [] if it is the same."""
    old = document.data.splitlines(keepends=True)
    new = data.splitlines(keepends=True)
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    old_part = old[head : len(old) - tail]
    new_part = new[head : len(new) - tail]
    start = sum(map(len, old[:head]))
    if not old_part and not new_part:
        return []
    if len(old_part) + len(new_part) > MAX_COMPARED:
        return [_edit(document, start, start + sum(map(len, old_part)), new_part)]
    starts = [start]
    for line in old_part:
        starts.append(starts[-1] + len(line))
    matcher = SequenceMatcher(None, old_part, new_part, autojunk=False)
    return [
        _edit(document, starts[first], starts[last], new_part[new_first:new_last])
        for kind, first, last, new_first, new_last in matcher.get_opcodes()
        if kind != "equal"
    ]


def _common(one: list[bytes], other: list[bytes]) -> int:
    """Return the number of equal lines at the start."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _edit(document: TextDocument, start: int, end: int, lines: list[bytes]) -> TextEdit:
    return TextEdit(document.lines.range(start, end), editor_text(b"".join(lines)))
