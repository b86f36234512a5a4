"""Places of a text for a terminal: paths below the directory of the new configuration, as `check` of it has
them. The directory is named once, and what lies outside of it keeps its path.
"""

from __future__ import annotations

from typing import Final

from whimbrel.base.terminal_text import shown
from whimbrel.report.entries import relative_places
from whimbrel.report.readiness import READY

_COMMAND: Final = "whimbrel "
_DOCUMENTS: Final = "documents: "
_TOP: Final = 4
"""Lines in which the sentence about going live is a part of the top."""


def with_relative_places(text: str, directory: str) -> str:
    """Return *text*, lines for a terminal, with ``FILE:LINE`` below *directory*, and a line that names it
    behind the sentence about going live or the verdict; commands stay as they are. A text without such a
    place is the same.
    """
    lines = text.splitlines(keepends=True)
    changed = []
    for line in lines:
        before, command, behind = line.partition(_COMMAND)
        changed.append(f"{relative_places(before, directory)}{command}{behind}")
    places = sum(new != old for new, old in zip(changed, lines, strict=True))
    if not directory or not places:
        return text
    verdict = 2 if changed[0].startswith(_DOCUMENTS) else 1
    at = next((at for at, line in enumerate(changed[:_TOP], 1) if READY in line), verdict)
    changed.insert(at, f"files: below {shown(directory)}\n")
    return "".join(changed)
