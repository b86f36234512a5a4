"""Text for terminals: names and lines that another person wrote may hold escape sequences."""

from __future__ import annotations

import re
from typing import Final

from whimbrel.base.latin1 import from_system, to_text

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|(?<![\x80-\xbf\xc3-\xf4])[\x80-\x9f]")
"""Those of ASCII, and those of ISO 8859 as one byte or as UTF-8: 0x9B begins an escape sequence too.

A byte of another character in UTF-8 is none.
"""
HIDDEN: Final = "(hidden)"
"""What stands in the place of a secret."""
_USER: Final = re.compile(r"(^|//)[^/?#]*:[^/?#]*@")
_CONTROL_IN_COLORS: Final = re.compile(r"\x1b\[(?:[0-2]|3[1-6](?:;1)?|1;3[1-6])m|" + _CONTROL.pattern)


def printable(text: str, *, is_colored: bool = False) -> str:
    """Return *text* with the control characters of names and lines as escapes: a terminal would obey them.

    Line ends and tabs stay, and the colors of a report that has some.
    """
    pattern = _CONTROL_IN_COLORS if is_colored else _CONTROL
    return pattern.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    sequence = found[0]
    if sequence.startswith("\x1b["):
        return sequence
    return "".join(f"\\x{ord(char):02x}" for char in sequence)


def printable_line(text: str, *, is_colored: bool = False) -> str:
    """Return *text* for one line: a name with a line end in it begins no line of the output."""
    return printable(text, is_colored=is_colored).replace("\n", "\\x0a")


def without_user(url: str) -> str:
    """Return *url*, or what was meant to be one, without the user and the password in it."""
    return _USER.sub(rf"\1{HIDDEN}@", url)


def file_problem(problem: OSError) -> str:
    """Return the file and the reason of an error, in one line."""
    name = problem.filename
    shown = to_text(name) if isinstance(name, bytes) else from_system(str(name))
    return printable_line(f"{shown}: {problem.strerror}")
