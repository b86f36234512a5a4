"""Bound of the answers that were learned."""

from __future__ import annotations

from typing import Final

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
