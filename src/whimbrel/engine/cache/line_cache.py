"""Cache of access-log lines that uses of cached responses have in common within one second."""

from __future__ import annotations

from typing import Any, Final

MAX_LINE_BYTES: Final = 1024 * 1024
LINE_COST: Final = 1024  # bytes of an entry beyond what is in its head: about
# a head's bytes are there once in the key and, as a byte may become four, four times in the lines
TIMES: Final = 5


class LineCache:
    """Cache of access-log lines. Key: number of a cached response with all that its lines depend on; value:
    the lines, or their templates.

    Entries are valid within one second. The bound is `MAX_LINE_BYTES`; all entries are dropped when the
    second ends or the bound is reached.

    Attributes:
        second: the second of the entries.
        entries: read only within that second, changed by `put`.
    """

    __slots__ = ("_room", "entries", "second")

    def __init__(self) -> None:
        self.entries: dict[tuple[Any, ...], tuple[bytes, ...]] = {}
        self.begin(0)

    def begin(self, second: int) -> None:
        """Drop all entries; the next ones are of *second*."""
        self.second, self._room = second, MAX_LINE_BYTES
        self.entries.clear()

    def put(self, key: tuple[Any, ...], lines: tuple[bytes, ...], size: int) -> None:
        """Add an entry; key and lines contain a head of *size* bytes."""
        self._room -= LINE_COST + TIMES * size
        if self._room < 0:
            self.begin(self.second)
            self._room -= LINE_COST + TIMES * size
        self.entries[key] = lines
