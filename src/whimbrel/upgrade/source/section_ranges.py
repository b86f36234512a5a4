"""The lines of sections, found in the text alone: a text that does not load has them as well."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.upgrade.model import Finding, Risk

_ACCESS_LINE: Final = re.compile(rb"(?i)(order|allow|deny|satisfy|require)[ \t]|<(limit|limitexcept)[ \t]")
_ACCESS_SECTION: Final = re.compile(rb"(?i)<(directory|files|location|proxy)(match)?[ \t>]")


def stripped_lines(data: bytes) -> list[bytes]:
    """Return the lines of a text without blanks at both ends."""
    return [line.strip() for line in data.split(b"\n")]


def section_around(lines: Sequence[bytes], number: int) -> range:
    """Return the numbers of the lines of the innermost section around line *number*, or of the section that
    it opens; the line alone outside of sections. *lines* are without blanks at both ends.
    """
    opened: list[int] = []
    for at, line in enumerate(lines[:number], 1):
        if _opens(line):
            opened.append(at)
        elif _closes(line) and opened and at != number:
            opened.pop()
    depth = 0
    for last, line in enumerate(lines[opened[-1] - 1 :] if opened else (), opened[-1] if opened else 0):
        depth += _opens(line) - _closes(line)
        if not depth:
            return range(opened[-1], last + 1)
    return range(number, number + 1)


def access_lines_of(lines: Sequence[bytes], number: int) -> Iterator[int]:
    """Yield the numbers of the lines about access from line *number* on that stand in the same file or
    section, and in no section below; nothing if a section begins there.

    A finding about the lines of a whole .htaccess file has the place of the first of them, which may be one
    of the password. *lines* are without blanks at both ends.
    """
    first = lines[number - 1] if 1 <= number <= len(lines) else b"<"
    if first.startswith(b"<") and not _ACCESS_LINE.match(first):
        return
    depth = 0
    for at, line in enumerate(lines[number - 1 :], number):
        if not depth and _ACCESS_LINE.match(line):
            yield at
        depth += _opens(line) - _closes(line)
        if depth < 0:
            return


def at_each_line(finding: Finding, lines: Sequence[bytes]) -> list[Finding]:
    """Return *finding*, of a section that decides about access at each of its lines: what is said of a
    section is said of them. Who gains access is said of the line alone.
    """
    place = finding.place
    line = lines[place.line - 1] if 1 <= place.line <= len(lines) else b""
    is_section = _ACCESS_SECTION.match(line) is not None and finding.risk is not Risk.OPENS
    numbers = section_around(lines, place.line) if is_section else (place.line,)
    return [replace(finding, place=SourceLocation(place.path, number)) for number in numbers]


def _opens(line: bytes) -> bool:
    return line.startswith(b"<") and not _closes(line)


def _closes(line: bytes) -> bool:
    return line.startswith(b"</")
