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
    is spared and becomes the youngest.
    """

    __slots__ = ("_most", "_most_bytes", "_queue", "bytes")

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self.bytes = 0
        self._queue: deque[tuple[dict[Any, Any], Any, Evictable]] = deque()

    def __len__(self) -> int:
        return len(self._queue)

    def put(self, entries: dict[Any, Any], key: Any, entry: Evictable) -> None:
        """Store *entry* in *entries* as *key*, after dropping as many others as necessary."""
        queue = self._queue
        self.bytes += entry.weight
        while queue and (self.bytes > self._most_bytes or len(queue) >= self._most):
            self._drop_or_spare(*queue.popleft())
        queue.append((entries, key, entry))
        entries[key] = entry

    def _drop_or_spare(self, entries: dict[Any, Any], key: Any, entry: Evictable) -> None:
        is_present = entries.get(key) is entry
        if is_present and entry.is_used:
            entry.is_used = False
            self._queue.append((entries, key, entry))
            return
        self.bytes -= entry.weight
        if is_present:
            del entries[key]

    def drop(self, entries: dict[Any, Any]) -> None:
        """Drop all of *entries*."""
        if entries:
            entries.clear()
            self._queue = deque([item for item in self._queue if item[0] is not entries])
            self.bytes = sum([entry.weight for _entries, _key, entry in self._queue])
