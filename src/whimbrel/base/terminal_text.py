"""Text for terminals and pipes: cleaned, cut, wrapped between words, aligned and colored.

A configuration, a path or a log line has one character per byte; `shown` makes it text that may be printed.
All other functions take shown text. `terminal_bytes` encodes it: bytes that are no UTF-8 leave as they came.
"""

from __future__ import annotations

import os
import re
import sys

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.numbers import is_digits
from whimbrel.base.printable import printable_line
from whimbrel.base.static_typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import TextIO

MAX_TEXT: Final = 400
"""Characters of one text of another person that are printed."""
UNBOUNDED: Final = 1 << 30
"""The width of a pipe: nothing is wrapped, so that each line can be searched."""
MIN_WIDTH: Final = 20
"""Columns that a terminal has at least."""
_WORDS: Final = re.compile(r"(?<!\s)(\s*+)(\S+)")
_REORDERING: Final = re.compile("[\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
"""Characters that show nothing, end a line or change the order of a line's text."""


def shown(text: str, limit: int = MAX_TEXT) -> str:
    """Return *text*, which has one character per byte, for one line of output: at most *limit* characters,
    no control characters, and none that reorder the line.
    """
    begin = text if len(text) <= 4 * limit else text[: 4 * limit]
    clean = printable_line(begin)
    if not clean.isascii():
        try:
            clean = to_bytes(clean).decode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            pass  # a text of this program
        clean = _REORDERING.sub(lambda found: f"\\u{ord(found[0]):04x}", clean)
    return cut(clean, limit) if len(begin) == len(text) else cut(f"{clean[:limit]}  ", limit)


def cut(text: str, limit: int = MAX_TEXT) -> str:
    """Return *text*, with an ellipsis in the place of what exceeds *limit* characters."""
    return text if len(text) <= limit else f"{text[: max(limit - 3, 0)]}..."


def terminal_bytes(text: str) -> bytes:
    """Encode shown text for standard output."""
    return text.encode("utf-8", "surrogateescape")


def terminal_width(stream: TextIO | None = None) -> int:
    """Return the columns of *stream*, standard output unless given; UNBOUNDED where it is no terminal."""
    stream = stream or sys.stdout
    if not stream.isatty():
        return UNBOUNDED
    given = os.environ.get("COLUMNS", "")
    try:
        columns = int(given) if is_digits(given) else os.get_terminal_size(stream.fileno()).columns
    except OSError:
        columns = 0
    return max(columns or 80, MIN_WIDTH)


def columns_of(text: str) -> int:
    """Return the columns that *text* takes on a terminal."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def wrapped(text: str, width: int) -> list[str]:
    """Return the lines of *text*, broken between words only: a longer word is a line. Two spaces, between the
    columns of a line, stay two.
    """
    if len(text) <= width and (text.isascii() or columns_of(text) <= width):
        return [text]
    lines: list[str] = []
    line = ""
    for gap, word in _WORDS.findall(text):
        between = "  " if gap == "  " else " "
        joined = f"{line}{between}{word}" if line else word
        if line and columns_of(joined) > width:
            lines.append(line)
            joined = word
        line = joined
    return [*lines, line]


def wrapped_alike(text: str, width: int) -> list[str]:
    """Return the same lines, each indented as *text* is."""
    body = text.lstrip()
    indent = text[: len(text) - len(body)]
    return [f"{indent}{line}" for line in wrapped(body, width - len(indent))]


def padded(text: str, width: int) -> str:
    """Return *text* with spaces up to *width* columns."""
    return text + " " * (width - columns_of(text))


def paint(text: str, code: str, is_colored: bool) -> str:
    """Return *text* between the escape sequences of a color; "" is none."""
    return f"\x1b[{code}m{text}\x1b[0m" if is_colored and code and text else text
