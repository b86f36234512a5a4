"""Eviction of caches whose entries cost much to build: the clock algorithm, with a bound in bytes."""

from __future__ import annotations

from collections import deque
from typing import Any, Protocol


class Evictable(Protocol):
    """An entry of a cache.

    Attributes:
        weight: approximate size in memory, in bytes; it does not change.
        is_used: the entry was used since it was admitted, or since it was last spared.
    """

    weight: int
    is_used: bool


class SecondChance:
    """The entries of some dictionaries: at most *most*, of *most_bytes* together.

    The oldest entry is dropped first. One that was used since it was admitted, or since it was last spared,
    is spared and becomes the youngest. Only `put` and `drop` may change the dictionaries.
    """

    __slots__ = ("_most", "_most_bytes", "_queue", "bytes")

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self.bytes = 0
        self._queue: deque[tuple[dict[Any, Any], Any]] = deque()  # an item for each entry

    def __len__(self) -> int:
        return len(self._queue)

    def put(self, entries: dict[Any, Any], key: Any, entry: Evictable) -> None:
        """Store *entry* in *entries* as *key*, after dropping as many others as necessary.

        An entry with the same key is released at once, as an expired response is by the next one. The new one
        takes its place in the order, and counts as used: the key has recurred.
        """
        queue = self._queue
        old: Evictable | None = entries.get(key)
        self.bytes += entry.weight
        if old is not None:
            self.bytes -= old.weight
            entry.is_used = True
            entries[key] = entry
        most = self._most if old is not None else self._most - 1
        while queue and (self.bytes > self._most_bytes or len(queue) > most):
            self._drop_or_spare(*queue.popleft())
        if old is None:
            queue.append((entries, key))
            entries[key] = entry

    def _drop_or_spare(self, entries: dict[Any, Any], key: Any) -> None:
        entry: Evictable = entries[key]
        if entry.is_used:
            entry.is_used = False
            self._queue.append((entries, key))
            return
        self.bytes -= entry.weight
        del entries[key]

    def drop(self, entries: dict[Any, Any]) -> None:
        """Drop all of *entries*."""
        if entries:
            self.bytes -= sum([entry.weight for entry in entries.values()])
            entries.clear()
            self._queue = deque([item for item in self._queue if item[0] is not entries])

    def weigh(self) -> int:
        """Return the bytes of all entries, which `bytes` must be."""
        return sum([entries[key].weight for entries, key in self._queue])
