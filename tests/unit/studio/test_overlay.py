"""Edits in memory: lines, line ends and encodings stay; bounds hold; undo and redo."""

from __future__ import annotations

import pytest

from whimbrel.studio import overlay
from whimbrel.studio.documents import Refused
from whimbrel.studio.overlay import MAX_LINES, EditedText, EditOverlay, with_lines


@pytest.mark.parametrize(
    ("data", "first", "count", "lines", "expected"),
    [
        (b"a\nb\nc\n", 2, 1, ["x"], b"a\nx\nc\n"),
        (b"a\nb\nc", 3, 1, ["x", "y"], b"a\nb\nx\ny"),
        (b"a\r\nb\r\n", 1, 1, ["x"], b"x\r\nb\r\n"),
        (b"a\nb\n", 1, 2, [], b"\n"),
        (b"a\n", 2, 0, ["b"], b"a\nb\n"),
        ("ä\nb\n".encode(), 2, 1, ["ü"], "ä\nü\n".encode()),
        (b"\xe4\nb\n", 2, 1, ["ü"], b"\xe4\n\xfc\n"),
        (b"a\n", 1, 1, ["x\ny"], b"x\ny\n"),
    ],
)
def test_lines_are_replaced_in_the_way_of_the_file(
    data: bytes, first: int, count: int, lines: list[str], expected: bytes
) -> None:
    assert with_lines(data, first, count, lines) == expected


@pytest.mark.parametrize(
    ("data", "first", "count", "lines"),
    [(b"a\n", 3, 0, ["x"]), (b"a\n", 1, 2, ["x"]), (b"a\n", 0, 1, ["x"]), (b"\0", 1, 1, ["x"])],
)
def test_lines_that_are_not_there_are_refused(data: bytes, first: int, count: int, lines: list[str]) -> None:
    with pytest.raises(Refused):
        with_lines(data, first, count, lines)


def test_line_ends_in_a_text_are_counted_as_lines() -> None:
    with pytest.raises(Refused, match="at most"):
        with_lines(b"a\n", 1, 1, ["\n" * MAX_LINES])


def test_each_change_has_a_version_and_can_be_taken_back() -> None:
    edits = EditOverlay()
    edits.put({"/a": EditedText(b"1", b"2")})
    edits.put({"/b": EditedText(b"1", b"3")})
    assert edits.texts == {"/a": b"2", "/b": b"3"}
    edits.undo()
    assert edits.texts == {"/a": b"2"}
    edits.redo()
    assert (edits.texts, edits.version, edits.steps) == ({"/a": b"2", "/b": b"3"}, 4, (2, 0))
    edits.put({"/a": EditedText(b"1", b"1")})
    assert edits.texts == {"/b": b"3"}, "a file as on disk is not edited"


def test_the_memory_of_edits_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlay, "MAX_EDITED", 100)
    monkeypatch.setattr(overlay, "MAX_EDITED_FILE", 60)
    edits = EditOverlay()
    for number in range(20):
        edits.put({"/a": EditedText(b"", b"%040d" % number)})
    assert edits.steps[0] <= 3
    with pytest.raises(Refused):
        edits.put({"/b": EditedText(b"", b"x" * 61)})
    with pytest.raises(Refused):
        edits.put({"/b": EditedText(b"x" * 50, b"y" * 50)})
