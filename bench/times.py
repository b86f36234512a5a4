"""Latencies of one run, by rank."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True)
class Times:
    """Sorted times of all requests, in milliseconds, and the seconds of a measurement at a rate."""

    sorted: list[float]
    seconds: float = 0.0

    @property
    def count(self) -> int:
        return len(self.sorted)

    @property
    def per_second(self) -> float:
        return self.count / self.seconds

    def at(self, share: float) -> float:
        """Return the time that *share* of all requests (0.99) did not exceed."""
        return self.sorted[max(0, ceil(share * self.count) - 1)]
