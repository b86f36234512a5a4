"""Files that sed scripts write (``w``) and read (``r``)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from whimbrel.base.file_reading import open_regular
from whimbrel.base.latin1 import to_bytes, to_system, to_text
from whimbrel.base.programs import require_programs

PIECE: Final = 512  # bytes that httpd reads in one step


class CannotOpen(Exception):
    """A file of ``w`` cannot be opened; the text is httpd's."""


class WrittenFiles:
    """The files of one run, opened when it begins; the output overwrites their beginning."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._handles: list[int] = []
        for name in names:
            try:
                require_programs()
                self._handles.append(os.open(to_system(name), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666))
            except (OSError, ValueError):
                self.close()
                raise CannotOpen(f"cannot open {name}") from None

    def write(self, number: int, text: str) -> None:
        """Write *text* to a file; errors have no effect."""
        try:
            os.write(self._handles[number], to_bytes(text))
        except OSError:
            return

    def close(self) -> None:
        """Close the files."""
        while self._handles:
            os.close(self._handles.pop())


def read_file(name: str) -> Iterator[str]:
    """Yield the content of a file in pieces; nothing if it cannot be read."""
    try:
        with os.fdopen(open_regular(to_system(name)), "rb") as file:
            while data := file.read(PIECE):
                yield to_text(data)
    except (OSError, ValueError):
        return
