"""The command ``l``: the pattern space in visible characters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

WIDTH: Final = 71  # characters of a line, before the backslash that folds it


def listed_lines(text: str) -> Iterator[str]:
    """Yield the lines of the listing of *text*."""
    line = ""
    for char in "".join(map(listed, text)):
        line += char
        if len(line) >= WIDTH:
            yield line + "\\"
            line = ""
    yield line


def listed(char: str) -> str:
    """Return a visible form of *char*: octal digits, of two places for control characters.

    httpd shifts bytes above 0x7f as negative numbers, so that their first digit is ``.`` or ``/``.
    """
    code = ord(char)
    if code == 10:
        return "\n"
    if code < 32:
        return f"\\{code:02o}"
    if code == 127:
        return "\\177"
    if code > 127:
        return f"\\{'.' if code < 192 else '/'}{code >> 3 & 7}{code & 7}"
    return char
