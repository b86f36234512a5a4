"""The lines of sections, found in the text."""

from __future__ import annotations

import pytest

from whimbrel.base.errors import SourceLocation
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.source.section_ranges import at_each_line, section_around

LINES = [b"A", b"<X>", b"B", b"<Y>", b"C", b"</Y>", b"D", b"</X>", b"E", b"<Z>", b"F"]


@pytest.mark.parametrize(
    ("number", "first", "last"),
    [
        (1, 1, 1),
        (2, 2, 8),
        (3, 2, 8),
        (4, 4, 6),
        (5, 4, 6),
        (6, 4, 6),
        (7, 2, 8),
        (8, 2, 8),
        (9, 9, 9),
        (11, 11, 11),
    ],
)
def test_the_innermost_section_is_found(number: int, first: int, last: int) -> None:
    """A section that nothing closes has no known end."""
    assert section_around(LINES, number) == range(first, last + 1)


def test_a_finding_of_a_section_is_at_its_lines() -> None:
    """Not who gains access, nor what is said of a host: more lines decide there than the finding is about."""
    lines = [b"<VirtualHost *>", b'<Location "/">', b"Allow from all", b"</Location>", b"</VirtualHost>"]

    def places(line: int, risk: Risk = Risk.CLOSES) -> list[int]:
        found = at_each_line(Finding("C17", SourceLocation("a", line), "m", risk=risk), lines)
        return [one.place.line for one in found]

    assert places(2) == [2, 3, 4]
    assert places(3) == [3]
    assert places(2, Risk.OPENS) == [2]
    assert places(1) == [1]
