"""Text for terminals: names and lines that another person wrote may hold escape sequences."""

from __future__ import annotations

import re
from typing import Final

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_CONTROL_IN_COLORS: Final = re.compile(r"\x1b\[(?:[0-2]|3[1-6]|1;3[1-6])m|" + _CONTROL.pattern)


def printable(text: str, *, is_colored: bool = False) -> str:
    """Return *text* with the control characters of names and lines as escapes: a terminal would obey them.

    Line ends and tabs stay, and the colors of a report that has some.
    """
    pattern = _CONTROL_IN_COLORS if is_colored else _CONTROL
    return pattern.sub(lambda found: found[0] if len(found[0]) > 1 else f"\\x{ord(found[0]):02x}", text)
