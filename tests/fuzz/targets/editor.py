"""Messages of editors: no exception for any text, change and position.

The first six bytes are positions; a byte 0 separates the text from the text of a change.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

pytest.importorskip("lsprotocol", reason="the extra lsp is not installed")

from lsprotocol.types import (
    FormattingOptions,
    Position,
    Range,
    TextDocumentContentChangePartial,
    TextDocumentContentChangeWholeDocument,
)

from tests.fuzz import seeds as recorded
from whimbrel.lsp.completion import completions
from whimbrel.lsp.cursor import cursor_at
from whimbrel.lsp.definitions import definitions
from whimbrel.lsp.documents import DocumentStore
from whimbrel.lsp.folding import folding_ranges
from whimbrel.lsp.formatting import formatting_edits
from whimbrel.lsp.hover import hover
from whimbrel.lsp.line_contexts import FileKind
from whimbrel.lsp.reading_problems import reading_problems
from whimbrel.lsp.symbols import symbols

COVERED = (
    "lsp/cursor.py",
    "lsp/documents.py",
    "lsp/folding.py",
    "lsp/formatting.py",
    "lsp/positions.py",
    "lsp/symbols.py",
    "lsp/line_contexts.py",
    "lsp/reading_problems.py",
)
TOKENS = (
    b"\0",
    b"<VirtualHost *:80>\n",
    b"</VirtualHost>\n",
    b"${X}",
    b"Options ",
    b"\xf0\x9f\x98\x80",
    b"\r\n",
    b"\\\n",
    b"RewriteRule ",
    b"# c\n",
)
CHANGED = 60
URI = "file:///nonexistent/a.conf"


def seeds() -> Sequence[bytes]:
    texts = recorded.few(recorded.texts("config-lang", "config-vhost"), 30)
    return [b"\0\3\1\2\0\5" + text + b"\0Options None\n" for text in texts]


def run(data: bytes) -> None:
    places = [*data[:6], *bytes(6)][:6]
    before, _, change = data[6:].partition(b"\0")
    store = DocumentStore()
    store.open(URI, before.decode("utf-8", "surrogateescape"), 1)
    text = change.decode("utf-8", "replace")
    part = Range(Position(places[0], places[1]), Position(places[2], places[3]))
    document = store.change(URI, [TextDocumentContentChangePartial(text=text, range=part)], 2)
    document = store.change(
        URI, [TextDocumentContentChangeWholeDocument(text=document.data.decode("utf-8", "replace"))], 3
    )
    symbols(document)
    folding_ranges(document)
    list(reading_problems(document.tree, FileKind.MAIN))
    formatting_edits(document, FormattingOptions(tab_size=4, insert_spaces=True))
    offset = document.lines.offset(Position(places[4], places[5]))
    assert 0 <= offset <= len(document.data)
    assert document.lines.offset(document.lines.position(offset)) == offset or offset == len(document.data)
    cursor = cursor_at(document, offset)
    completions(cursor, FileKind.MAIN, None, store)
    hover(cursor, None, store)
    definitions(cursor, None, store)
    assert Path(document.path).name == "a.conf"
