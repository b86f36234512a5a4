"""Documents that an editor has open, and files of the disk in the same form."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes

from lsprotocol.types import (
    PositionEncodingKind,
    TextDocumentContentChangeEvent,
    TextDocumentContentChangePartial,
)

from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.real_paths import real_path
from whimbrel.lsp.positions import LineTable, encoded
from whimbrel.syntax.lines import V24_LINES
from whimbrel.syntax.tree import Document, parse
from whimbrel.upgrade.source.reading import is_htaccess

MAX_BYTES: Final = 16 << 20
"""Bytes of a document that are looked at; a larger one counts as empty."""


def path_of(uri: str) -> str:
    """Return the path of a URI, one character per byte; that of a text without file exists nowhere."""
    scheme, _, rest = uri.partition(":")
    if scheme.lower() != "file":
        return f"/{scheme}:/{to_text(unquote_to_bytes(rest.encode('utf-8', 'replace')))}"
    path = rest.partition("#")[0].partition("?")[0]
    if path.startswith("//"):
        path = f"/{path[2:].partition('/')[2]}"
    return to_text(unquote_to_bytes(path.encode("utf-8", "replace")))


def uri_of(path: str) -> str:
    """Return the URI of an absolute path."""
    return f"file://{quote_from_bytes(to_bytes(path))}"


class TextDocument:
    """One version of one text; it never changes, so that a thread may read it while the editor goes on.

    Attributes:
        path: one character per byte.
        version: that of the editor, None for a file of the disk.
        data: the text in UTF-8, or the bytes of the file.
        is_too_large: the text has more than MAX_BYTES, and *data* is empty.
    """

    def __init__(self, uri: str, data: bytes, version: int | None, encoding: str) -> None:
        self.uri = uri
        self.path = path_of(uri)
        self.version = version
        self.encoding = encoding
        self.is_too_large = len(data) > MAX_BYTES
        self.data = b"" if self.is_too_large else data

    @cached_property
    def lines(self) -> LineTable:
        """The starts of the lines."""
        return LineTable(self.data, self.encoding)

    @cached_property
    def tree(self) -> Document:
        """The tree by the rules of 2.4."""
        return parse(self.data, V24_LINES)

    @property
    def is_htaccess(self) -> bool:
        """Return True if the name is that of a .htaccess file."""
        return is_htaccess(self.path)


class DocumentStore:
    """The open documents by URI.

    Attributes:
        encoding: the code units of positions, as negotiated.
    """

    def __init__(self) -> None:
        self.encoding: str = PositionEncodingKind.Utf16
        self._documents: dict[str, TextDocument] = {}

    def open(self, uri: str, text: str, version: int) -> TextDocument:
        """Add a document, or replace it."""
        document = TextDocument(uri, encoded(text), version, self.encoding)
        self._documents[uri] = document
        return document

    def change(
        self, uri: str, changes: Iterable[TextDocumentContentChangeEvent], version: int
    ) -> TextDocument:
        """Apply changes in order: of the whole text, or of a range, which some editors send unasked."""
        document = self._documents.get(uri)
        data = document.data if document is not None else b""
        for change in changes:
            text = encoded(change.text)
            if isinstance(change, TextDocumentContentChangePartial):
                lines = LineTable(data, self.encoding)
                first, last = sorted((lines.offset(change.range.start), lines.offset(change.range.end)))
                text = data[:first] + text + data[last:]
            data = text
        document = TextDocument(uri, data, version, self.encoding)
        self._documents[uri] = document
        return document

    def close(self, uri: str) -> None:
        """Forget a document."""
        self._documents.pop(uri, None)

    def find(self, uri: str) -> TextDocument | None:
        """Return an open document."""
        return self._documents.get(uri)

    def get(self, uri: str) -> TextDocument:
        """Return an open document, or that of the disk; one that cannot be read is empty."""
        return self._documents.get(uri) or self._of_disk(uri)

    def at(self, path: str) -> TextDocument:
        """Return the document of a path."""
        real = real_path(path)
        for document in self.all():
            if path == document.path or real == real_path(document.path):
                return document
        return self._of_disk(uri_of(path))

    def all(self) -> list[TextDocument]:
        """Return the open documents."""
        return list(self._documents.values())

    def overlay(self) -> dict[str, bytes]:
        """Return the texts of the open documents by path and by real path."""
        texts = {}
        for document in self.all():
            texts[document.path] = document.data
            texts[real_path(document.path)] = document.data
        return texts

    def _of_disk(self, uri: str) -> TextDocument:
        try:
            data = read_regular(to_bytes(path_of(uri)), MAX_BYTES)
        except (OSError, ValueError):
            data = b""
        return TextDocument(uri, data, None, self.encoding)
