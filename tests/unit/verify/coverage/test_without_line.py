"""A text without one of its lines."""

from __future__ import annotations

from whimbrel.verify.coverage.without_line import without_line


def test_the_line_and_its_continuation_become_empty() -> None:
    text = b"a\nb \\\n c\nd\n"
    assert without_line(text, 2) == b"a\n\n\nd\n"
    assert without_line(text, 1) == b"\nb \\\n c\nd\n"
    assert without_line(text, 9) == text
