"""The state of one editor: open documents, settings, checks, and what was published."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from lsprotocol.types import Diagnostic, Position

from whimbrel.lsp.analysis import FileAnalysis
from whimbrel.lsp.checks import PAUSE, Checks, Publish
from whimbrel.lsp.completion import all_names
from whimbrel.lsp.cursor import Cursor, cursor_at
from whimbrel.lsp.documents import DocumentStore, TextDocument, path_of
from whimbrel.lsp.hover import described
from whimbrel.lsp.line_contexts import FileKind
from whimbrel.lsp.main_files import MainFiles
from whimbrel.lsp.positions import encoded

SECTION: Final = "whimbrel"
"""The section of an editor's settings."""


class EditorSession:
    """The state of one editor."""

    def __init__(self, publish: Publish, *, pause: float = PAUSE) -> None:
        self.documents = DocumentStore()
        self.main_files = MainFiles()
        self._published: dict[str, tuple[TextDocument, list[Diagnostic]]] = {}
        self._send = publish
        self.checks = Checks(self.documents, self.main_files, self._publish, pause=pause)

    def configure(self, settings: object, directories: Iterable[str]) -> None:
        """Take the settings, with or without their section, and the URIs of the directories; check all."""
        values = settings.get(SECTION, settings) if isinstance(settings, dict) else {}
        main = values.get("mainFile") if isinstance(values, dict) else None
        named = encoded(main).decode("latin-1") if isinstance(main, str) else ""
        self.main_files.configure(named, map(path_of, directories))
        self.check_all()

    def warm_up(self) -> None:
        """Read the tables that the first answers need, in the thread of checks."""
        self.checks.submit(_read_tables)

    def check_all(self) -> None:
        """Check every open document."""
        for document in self.documents.all():
            self.checks.schedule(document.path)

    def close(self, uri: str) -> None:
        """Forget a document and its diagnostics."""
        document = self.documents.find(uri)
        self.documents.close(uri)
        self._published.pop(uri, None)
        if document is not None:
            self._send(document, [])
            self.checks.forget(document.path)

    def published(self, document: TextDocument) -> list[Diagnostic]:
        """Return the diagnostics of a document; none while those of an older text stand."""
        of_text, found = self._published.get(document.uri, (document, []))
        return found if of_text is document else []

    def cursor(self, uri: str, position: Position) -> Cursor:
        """Return the place of *position* in a document."""
        document = self.documents.get(uri)
        return cursor_at(document, document.lines.offset(position))

    def kind_of(self, document: TextDocument) -> FileKind:
        """Return the use of a document's file."""
        unit = self.main_files.unit_of(document.path)
        return FileAnalysis(unit, None, None, {}, {}).kind_of(document)

    def _publish(self, document: TextDocument, found: list[Diagnostic]) -> None:
        self._published[document.uri] = document, found
        self._send(document, found)


def _read_tables() -> None:
    described(next(iter(all_names())))
