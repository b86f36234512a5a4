"""All features over half-typed, damaged and large texts: none raises, and each answers in time."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Final

import pytest

pytest.importorskip("lsprotocol", reason="the extra lsp is not installed")

from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol.types import Diagnostic, FormattingOptions, Position
from tests.support.samples import amount

from whimbrel.lsp.completion import completions
from whimbrel.lsp.definitions import definitions
from whimbrel.lsp.documents import TextDocument
from whimbrel.lsp.folding import folding_ranges
from whimbrel.lsp.formatting import formatting_edits
from whimbrel.lsp.hover import hover
from whimbrel.lsp.reading_problems import reading_problems
from whimbrel.lsp.session import EditorSession
from whimbrel.lsp.symbols import symbols

URI: Final = "file:///nowhere/a.conf"
TEXT: Final = """\
# äö 😀
Define ROOT /srv
<VirtualHost *:80>
    ServerName "www.example.com"
    <Directory "${ROOT}/x y">
        Options +Indexes \\
            -FollowSymLinks
        Require not ip 10.0.0.0/8
    </Directory>
    <Macro Host $name>
    Use Host 'a
    Include conf/*.conf
    LoadModule x_module modules/mod_x.so
    RewriteRule ^/(.*)$ http://www.example.com/$1 [R=301,L]
</VirtualHost>
"""
PIECES: Final = st.sampled_from(
    [
        "<",
        "</",
        ">",
        "${",
        "}",
        '"',
        "'",
        "\\\n",
        "\n",
        "\0",
        "\r",
        " ",
        "Include ",
        "<If ",
        "</If>",
        "é",
        "😀",
        "\ud83d",
    ]
)
MAX_SECONDS: Final = 0.1
LINES: Final = 5000


def ignore(_document: TextDocument, _found: list[Diagnostic]) -> None:
    """Publish nothing."""


def opened(text: str) -> EditorSession:
    """Return a session with one document."""
    session = EditorSession(ignore)
    session.documents.open(URI, text, 1)
    return session


def features(session: EditorSession, place: Position) -> list[Callable[[], object]]:
    """Return all features that answer at a place of the document, or about the whole."""
    cursor = session.cursor(URI, place)
    document = session.documents.get(URI)
    kind = session.kind_of(document)
    return [
        partial(hover, cursor, None, session.documents),
        partial(completions, cursor, kind, None, session.documents),
        partial(definitions, cursor, None, session.documents),
        partial(symbols, document),
        partial(folding_ranges, document),
    ]


@settings(max_examples=amount(50, 150), deadline=None)
@given(
    st.integers(0, len(TEXT)),
    st.lists(PIECES, max_size=4),
    st.booleans(),
    st.integers(0, 20),
    st.integers(0, 60),
)
def test_no_half_typed_text_raises(at: int, typed: list[str], is_cut: bool, line: int, column: int) -> None:
    text = TEXT[:at] + "".join(typed) + ("" if is_cut else TEXT[at:])
    session = opened(text)
    for place in (Position(line, column), session.documents.get(URI).lines.position(len(TEXT[:at].encode()))):
        for feature in features(session, place):
            feature()
    document = session.documents.get(URI)
    formatting_edits(document, FormattingOptions(4, True))
    assert len(list(reading_problems(document.tree, session.kind_of(document)))) <= text.count("\n") + 2


def large(lines: int) -> str:
    """Return a configuration of virtual hosts."""
    host = TEXT.replace("    <Macro Host $name>\n", "").replace("'a\n", "a\n")
    return host * (lines // host.count("\n") + 1)


@pytest.mark.parametrize("number", range(5), ids=["hover", "completion", "definition", "symbols", "folding"])
def test_answers_on_5000_lines_take_less_than_100_ms(number: int) -> None:
    """The tables are read before, as a server reads them when it starts; each text is a new one."""
    text = large(LINES)
    assert text.count("\n") >= LINES
    place = Position(LINES // 2, 12)
    features(opened(text), place)[number]()
    seconds = []
    for _ in range(3):
        session = opened(text)
        before = time.process_time()
        features(session, place)[number]()
        seconds.append(time.process_time() - before)
    assert min(seconds) < MAX_SECONDS


@pytest.mark.parametrize(
    "char", ["x", "é", '"', "<", "${"], ids=["ascii", "utf-8", "quotes", "tags", "variables"]
)
def test_a_line_of_a_megabyte_is_answered(char: str) -> None:
    text = f"Options None\nRedirect {char * ((1 << 20) // len(char.encode()))}\nListen 80\n"
    session = opened(text)
    before = time.process_time()
    for feature in features(session, Position(1, 500_000)):
        feature()
    formatting_edits(session.documents.get(URI), FormattingOptions(4, True))
    assert time.process_time() - before < 20 * MAX_SECONDS


@pytest.mark.parametrize(
    "text", ["\x7fELF\0\1\2" * 1000, "\0" * 5000, "<A>\n" * 3000, "\r" * 3000, "\\\n" * 3000]
)
def test_texts_that_are_no_configuration_are_answered(text: str) -> None:
    session = opened(text)
    for line in (0, 1, 2999, 4000):
        for feature in features(session, Position(line, 1)):
            feature()
    edits = formatting_edits(session.documents.get(URI), FormattingOptions(4, True))
    assert [edit.new_text.strip() for edit in edits] == [""] * len(edits)
