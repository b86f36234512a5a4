"""Cache of access-log lines that uses of kept answers have in common within one second."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

MAX_LINE_BYTES: Final = 1024 * 1024
LINE_COST: Final = 512  # bytes of an entry beyond its texts: about


class LineCache:
    """Key: a kept answer's number and what the lines depend on; value: the lines, or what they are made of.

    Valid within one second; at most `MAX_LINE_BYTES`; everything is dropped when the second ends or the bound is reached.
    """

    __slots__ = ("_bytes", "_entries", "_second")

    def __init__(self) -> None:
        self._second = self._bytes = 0
        self._entries: dict[tuple[Any, ...], tuple[bytes, ...]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def of(self, second: int) -> dict[tuple[Any, ...], tuple[bytes, ...]]:
        """The entries of *second*, to be changed by `put` only."""
        if second != self._second:
            self._second = second
            self._drop()
        return self._entries

    def put(self, key: tuple[Any, ...], lines: tuple[bytes, ...], texts: Iterable[bytes] = ()) -> None:
        """Add an entry for the second of the last `of`; *texts* are those in its key."""
        cost = LINE_COST + sum(map(len, lines)) + sum(map(len, texts))
        if self._bytes + cost > MAX_LINE_BYTES:
            self._drop()
        self._bytes += cost
        self._entries[key] = lines

    def _drop(self) -> None:
        self._bytes = 0
        self._entries.clear()
