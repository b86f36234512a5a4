"""Bounds of the response cache: which entries of a level are dropped, and when what was learned is."""

from __future__ import annotations

from collections import deque
from typing import Any, Final

from whimbrel.engine.cache.entry import CachedResponse

MAX_LEARNED_BYTES: Final = 8 * 1024 * 1024  # of what was learned, for all indexes together
MAX_LEARNED: Final = 4096


class LearnedBudget:
    """Number and bytes of the answers that were learned, for all indexes together."""

    __slots__ = ("bytes", "entries")

    def __init__(self) -> None:
        self.bytes = 0
        self.entries = 0

    def overflows(self, weight: int) -> bool:
        """Count one more answer; return True if all others have to be dropped."""
        self.bytes += weight
        self.entries += 1
        if self.entries <= MAX_LEARNED and self.bytes <= MAX_LEARNED_BYTES:
            return False
        self.bytes = weight
        self.entries = 1
        return True


class SecondChance:
    """The entries of one level in all indexes: at most *most*, of *most_bytes* together.

    The oldest entry is dropped first. One that was used since it was admitted, or since it was last spared,
    is spared and becomes the youngest; a use is a validation in another tick.
    """

    __slots__ = ("_most", "_most_bytes", "_queue", "bytes")

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self.bytes = 0
        self._queue: deque[tuple[dict[Any, CachedResponse], Any, CachedResponse]] = deque()

    def __len__(self) -> int:
        return len(self._queue)

    def put(self, entries: dict[Any, CachedResponse], key: Any, cached: CachedResponse) -> None:
        """Store *cached* in *entries* as *key*, after dropping as many others as necessary."""
        queue = self._queue
        self.bytes += cached.weight
        while queue and (self.bytes > self._most_bytes or len(queue) >= self._most):
            self._drop_or_spare(*queue.popleft())
        queue.append((entries, key, cached))
        entries[key] = cached

    def _drop_or_spare(self, entries: dict[Any, CachedResponse], key: Any, cached: CachedResponse) -> None:
        is_present = entries.get(key) is cached
        if is_present and cached.spared_tick != cached.validated_tick:
            cached.spared_tick = cached.validated_tick
            self._queue.append((entries, key, cached))
            return
        self.bytes -= cached.weight
        if is_present:
            del entries[key]

    def drop(self, entries: dict[Any, CachedResponse]) -> None:
        """Drop all of *entries*."""
        if entries:
            entries.clear()
            self._queue = deque([item for item in self._queue if item[0] is not entries])
            self.bytes = sum([cached.weight for _entries, _key, cached in self._queue])
