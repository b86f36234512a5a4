"""Positions of editors and offsets of bytes, in each encoding, whatever an editor sends."""

from __future__ import annotations

import pytest

pytest.importorskip("lsprotocol", reason="the extra lsp is not installed")

from hypothesis import given
from hypothesis import strategies as st
from lsprotocol.types import Position

from whimbrel.lsp.positions import LineTable, editor_text, encoded, received_position, shown

ENCODINGS = st.sampled_from(["utf-8", "utf-16", "utf-32"])
TEXT = "ab\r\nä€😀x\nlast"


@pytest.mark.parametrize(
    ("encoding", "column"), [("utf-16", 4), ("utf-8", 2 + 3 + 4), ("utf-32", 3)], ids=str
)
def test_each_encoding_counts_its_units(encoding: str, column: int) -> None:
    """RFC 3629 and the protocol: U+00E4 has 2 bytes, U+20AC 3, U+1F600 4 bytes and 2 code units."""
    lines = LineTable(TEXT.encode(), encoding)
    offset = TEXT.encode().index(b"x")
    assert lines.position(offset) == Position(1, column)
    assert lines.offset(Position(1, column)) == offset


@pytest.mark.parametrize(
    ("place", "wanted"),
    [
        (Position(0, 99), 2),
        (Position(1, 3), 4 + 2 + 3),  # within the two code units of U+1F600
        (Position(99, 0), len(TEXT.encode())),
        (Position(2, 2**31 - 1), len(TEXT.encode())),
    ],
    ids=str,
)
def test_positions_outside_of_the_text_are_brought_into_it(place: Position, wanted: int) -> None:
    assert LineTable(TEXT.encode()).offset(place) == wanted


@given(st.binary(max_size=60), st.integers(0, 10), st.integers(0, 80), ENCODINGS)
def test_no_position_raises(data: bytes, line: int, column: int, encoding: str) -> None:
    lines = LineTable(data, encoding)
    offset = lines.offset(Position(line, column))
    assert 0 <= offset <= len(data)
    assert 0 <= lines.position(offset).line < len(lines.starts)


@given(st.text(st.characters(codec=None), max_size=40), ENCODINGS)
def test_offsets_of_characters_come_back(text: str, encoding: str) -> None:
    data = encoded(text)
    lines = LineTable(data, encoding)
    at = 0
    for char in text:
        if char not in "\r\n":
            assert lines.offset(lines.position(at)) == at
        at += len(encoded(char))
    assert editor_text(data) == text


def test_text_of_one_character_per_byte_is_shown_as_the_editor_has_it() -> None:
    assert shown("ä".encode().decode("latin-1")) == "ä"
    assert shown("\xe4") == "�"


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ({"line": -1, "character": 2**40}, Position(0, 2**31 - 1)),
        ({"line": 2.5, "character": "x"}, Position(0, 0)),
        ({"line": 3}, Position(3, 0)),
        (None, Position(0, 0)),
    ],
)
def test_a_position_that_the_protocol_does_not_have_is_brought_into_it(
    value: object, wanted: Position
) -> None:
    assert received_position(value) == wanted
