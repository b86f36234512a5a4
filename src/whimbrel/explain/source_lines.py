"""Lines of a configuration as they stand in their files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.config.options import overlaid
from whimbrel.config.origins import Origin

MAX_FILES: Final = 64
"""Files whose lines are kept for one explanation."""
MAX_CONTINUED: Final = 20
"""Lines of one directive that are joined."""


class SourceLines:
    """Reads the lines that an explanation names.

    Key: a path; value: the lines of the file, none for one that cannot be read. At most MAX_FILES are kept.
    *overlay* has texts that stand in the place of files, by path without links.
    """

    def __init__(self, overlay: Mapping[str, bytes] | None = None) -> None:
        self._overlay = overlay or {}
        self._files: BoundedDict[str, list[str]] = BoundedDict(MAX_FILES)

    def text(self, line: Origin) -> str:
        """Return the line as its file has it, without the space around it.

        The text of the directive stands in where the file has another one there, as for -C and macros.
        """
        words = line.text.split(None, 1)
        written = self._written(line)
        if not words:
            return written
        return written if written.lower().startswith(words[0].lower()) else line.text

    def _written(self, line: Origin) -> str:
        lines = self._lines(line.place.path)
        last = line.place.line - 1
        if not 0 <= last < len(lines):
            return ""
        first = last
        while first and last - first < MAX_CONTINUED and lines[first - 1].endswith("\\"):
            first -= 1
        return " ".join(part.strip() for part in lines[first : last + 1])

    def _lines(self, path: str) -> list[str]:
        found = self._files.get(path)
        if found is None:
            try:
                edited = overlaid(self._overlay, path)
                data = read_regular(to_bytes(path)) if edited is None else edited
                found = [line.rstrip("\r") for line in to_text(data).split("\n")]
            except (OSError, ValueError):
                found = []
            self._files[path] = found
        return found
