"""The place of a cursor in a tree: its line, and the sections around it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Final, NamedTuple

from whimbrel.base.latin1 import to_text
from whimbrel.lsp.documents import TextDocument
from whimbrel.syntax.lines import origin
from whimbrel.syntax.spans import name_range
from whimbrel.syntax.tree import Close, Comment, Directive, Malformed, Node, Section
from whimbrel.syntax.words import WHITE, getword

MAX_WORDS: Final = 10_000
"""Arguments of a line among which that under the cursor is looked for."""


class Cursor(NamedTuple):
    """A place in a document.

    Attributes:
        offset: bytes from the start of the document.
        sections: those around the line, the outermost first.
        piece: what stands there; None between lines and at the end.
    """

    document: TextDocument
    offset: int
    sections: tuple[Section, ...]
    piece: Node | Close | None

    @property
    def before(self) -> str:
        """Return the logical line up to the cursor, without white space at its start."""
        start = self.piece.start if self.piece is not None else self._line_start
        return to_text(self.document.data[start : self.offset]).replace("\\\n", "").lstrip(WHITE)

    @property
    def _line_start(self) -> int:
        return self.document.data.rfind(b"\n", 0, self.offset) + 1

    @property
    def is_on_name(self) -> bool:
        """Return True if the name of a directive, section or closing tag is under the cursor."""
        if not isinstance(self.piece, Directive | Section | Close):
            return False
        start, end = name_range(self.document.tree, self.piece)
        return start <= self.offset <= end

    def word(self) -> tuple[str, int, int]:
        """Return the argument under the cursor without its quotes, with its range; "" for none."""
        piece = self.piece
        if not isinstance(piece, Directive | Section):
            return "", self.offset, self.offset
        last = piece.body if isinstance(piece, Section) else piece.end
        source = to_text(self.document.data[piece.start : last])
        text, places = origin(source, 0, self.document.tree.rules)
        index = bisect_left(places, self.offset - piece.start)
        at = getword(text)[1]
        for _ in range(MAX_WORDS):
            if not at <= index or at >= len(text):
                break
            word, following = getword(text, at)
            end = at + len(text[at:following].rstrip(WHITE))
            if index <= end:
                return word, piece.start + places[at], piece.start + places[end - 1] + 1
            at = following
        return "", self.offset, self.offset


def cursor_at(document: TextDocument, offset: int) -> Cursor:
    """Return the place of *offset*."""
    nodes = document.tree.children
    data = document.data
    sections: list[Section] = []
    while True:
        at = bisect_right(nodes, offset, key=lambda node: node.start) - 1
        node = nodes[at] if at >= 0 else None
        if node is None:
            break
        if not isinstance(node, Section):
            return Cursor(document, offset, tuple(sections), node if _holds(node, offset, data) else None)
        if offset < node.body or (offset == node.body == len(data) and data[-1:] != b"\n"):
            return Cursor(document, offset, tuple(sections), node)
        close = node.close
        if close is not None and offset >= close.start and _holds(close, offset, data):
            return Cursor(document, offset, (*sections, node), close)
        if offset >= node.end and (close is not None or node.end < len(data)):
            break
        sections.append(node)
        nodes = node.children
    return Cursor(document, offset, tuple(sections), None)


def _holds(piece: Node | Close, offset: int, data: bytes) -> bool:
    """Return True if *offset* is on the lines of *piece*; the end of a text is that of its last line."""
    return offset < piece.end or (offset == piece.end == len(data) and data[-1:] != b"\n")


def line_range(document: TextDocument, piece: Node | Close) -> tuple[int, int]:
    """Return the bytes of a line, or of the line that opens a section, without white space around it."""
    end = piece.body if isinstance(piece, Section) else piece.end
    line = document.data[piece.start : end]
    start = piece.start + len(line) - len(line.lstrip(WHITE.encode()))
    return start, max(start, piece.start + len(line.rstrip(WHITE.encode())))


def is_text(piece: Node | Close | None) -> bool:
    """Return True for a comment, and for text that is no directive."""
    return isinstance(piece, Comment | Malformed)
