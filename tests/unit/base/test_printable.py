"""Control characters of names and lines never reach a terminal."""

from __future__ import annotations

import pytest

from whimbrel.base.printable import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\n", "a\tb\n"),
        ("a\x1b]0;owned\x07", "a\\x1b]0;owned\\x07"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\rb\x7f\x00", "a\\x0db\\x7f\\x00"),
        ("é\xe9", "é\xe9"),
        ("a\x9b31m", "a\\x9b31m"),
        ("\xc2\x9b31m", "\\xc2\\x9b31m"),
        ("\xc3\x80 \xe2\x82\x9b", "\xc3\x80 \xe2\x82\x9b"),
    ],
)
def test_controls_are_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_a_colored_report_keeps_its_colors_only() -> None:
    assert printable("\x1b[31;1mred\x1b[0m \x1b[8mhidden \x1b[2J", is_colored=True) == (
        "\x1b[31;1mred\x1b[0m \\x1b[8mhidden \\x1b[2J"
    )
