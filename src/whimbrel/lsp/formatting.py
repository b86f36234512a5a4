"""Formatting of a document, as `whimbrel fmt` formats a file."""

from __future__ import annotations

from typing import Final

from lsprotocol.types import FormattingOptions, TextEdit

from whimbrel.cli.fmt import refusal_of, spelled
from whimbrel.config.load import DeepRecursion
from whimbrel.lsp.documents import TextDocument
from whimbrel.lsp.text_edits import edits_to
from whimbrel.syntax.format import NotTheSame, formatted

MAX_INDENT: Final = 16


def formatting_edits(document: TextDocument, options: FormattingOptions) -> list[TextEdit]:
    """Return the edits; none for a text that `whimbrel fmt` leaves as it is."""
    indent = min(max(options.tab_size, 0), MAX_INDENT)
    try:
        with DeepRecursion():
            if document.is_too_large or refusal_of(document.data):
                return []
            return edits_to(document, formatted(document.data, spelled, indent=indent))
    except NotTheSame:
        return []
