"""The text that the groups of a pattern can match; anything, if the pattern does not show it."""

from __future__ import annotations

import re
from typing import Final

_ATOM: Final = re.compile(r"\\.|\[\^?\]?(?:\[:\w+:\]|\\.|[^\]\\])*\]|\(\?|.", re.DOTALL)
_KNOWN_ESCAPES: Final = re.compile(r"\\[dDwWsSbB]|\\[^A-Za-z0-9]")


def group_text(pattern: str, number: int) -> str | None:
    """Return the text of the group with that number, the whole pattern for 0; None if groups cannot be
    counted."""
    if number == 0:
        return pattern
    # the number of each open group, 0 for groups that do not capture, and the offset of its text
    open_groups: list[tuple[int, int]] = []
    count = 0
    for match in _ATOM.finditer(pattern):
        atom = match[0]
        if atom == "(?":
            if pattern[match.end() : match.end() + 1] in ("P", "<", "'", "|"):
                return None
            open_groups.append((0, match.end()))
        elif atom == "(":
            count += 1
            open_groups.append((count, match.end()))
        elif atom == ")" and open_groups:
            group, start = open_groups.pop()
            if group == number:
                return pattern[start : match.start()]
    return ""


def can_match(text: str | None, char: str) -> bool:
    """Return True if a match of *text* (None for anything) may contain *char*."""
    return text is None or any(_atom_can(atom, char) for atom in _ATOM.findall(text))


def _atom_can(atom: str, char: str) -> bool:
    if atom == ".":
        return True
    if len(atom) == 1:
        return atom == char and char not in "?*+{}()|^$"
    if atom == "(?":
        return False
    if "[:" in atom or (atom[0] == "\\" and not _KNOWN_ESCAPES.fullmatch(atom)):
        return True
    try:
        return re.fullmatch(atom, char) is not None
    except re.error:
        return True
