"""The place of a cursor: its line, its argument, and the sections around it."""

from __future__ import annotations

import pytest

pytest.importorskip("lsprotocol", reason="the extra lsp is not installed")

from whimbrel.lsp.cursor import Cursor, cursor_at
from whimbrel.lsp.documents import TextDocument
from whimbrel.syntax.tree import Close, Directive, Section


def at_bar(text: str) -> Cursor:
    """Return the place of the ``|`` in a text."""
    offset = text.index("|")
    return cursor_at(TextDocument("file:///a.conf", text.replace("|", "").encode(), 1, "utf-16"), offset)


@pytest.mark.parametrize(
    ("text", "sections", "kind"),
    [
        ("|", [], None),
        ("Listen 8|0", [], Directive),
        ("Listen 80|", [], Directive),
        ("Listen 80\n|", [], None),
        ("<Directory /|x>\n", [], Section),
        ("<Directory /x>\n|", ["Directory"], None),
        ("<Directory /x>\n|\n</Directory>\n", ["Directory"], None),
        ("<Directory /x>\n  <If x>\n  Opt|\n  </If>\n</Directory>\n", ["Directory", "If"], Directive),
        ("<Directory /x>\n</Dir|ectory>\n", ["Directory"], Close),
        ("<Directory /x>\n</Directory>\n|", [], None),
        ("<A>\n<B>\n</A>\nListen| 80\n", [], Directive),
    ],
)
def test_the_line_and_its_sections_are_found(text: str, sections: list[str], kind: type | None) -> None:
    cursor = at_bar(text)
    assert [section.name for section in cursor.sections] == sections
    assert isinstance(cursor.piece, kind) if kind is not None else not isinstance(cursor.piece, Directive)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Redirect 301 /o|ld /new", "/old"),
        ('Alias /x "/srv/a |b"', "/srv/a b"),
        ("Redirect 301 |", ""),
        ("Redirect \\\n  301 /a /n|ew\n", "/new"),
    ],
)
def test_the_argument_under_the_cursor_has_no_quotes(text: str, word: str) -> None:
    assert at_bar(text).word()[0] == word


def test_the_text_before_the_cursor_joins_lines() -> None:
    assert at_bar("  Options \\\n  Ind|exes\n").before == "Options   Ind"
