"""Lines of script heads: ends of lines, and the end of the head."""

from __future__ import annotations

import pytest

from whimbrel.backends.script_lines import MAX_LINE, next_line, take_head


@pytest.mark.parametrize(
    ("data", "lines", "rest"),
    [
        (b"A: b\r\n\r\nhi", ("A: b", ""), b"hi"),
        (b"A: b\n\nhi", ("A: b", ""), b"hi"),
        (b"\nhi", ("",), b"hi"),
        (b"A: b\r\nC", ("A: b",), b"C"),
        (b"\0x\nhi", ("\0x",), b"hi"),
    ],
)
def test_take_head(data, lines, rest):
    left = bytearray(data)
    assert take_head(left).script_lines == lines
    assert left == rest


def test_longest_line():
    assert next_line(bytearray(b"x" * (MAX_LINE - 1) + b"\n")) == "x" * (MAX_LINE - 1)
    assert next_line(bytearray(b"x" * MAX_LINE + b"\n")) is None
