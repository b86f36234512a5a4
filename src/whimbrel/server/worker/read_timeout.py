"""RequestReadTimeout: deadline of a head or body that MinRate extends as data arrives.

Manual: mod/mod_reqtimeout.html.
"""

from __future__ import annotations

from time import monotonic

from whimbrel.config.read_limits import ReadLimit, ReadLimits
from whimbrel.engine.log.error_log_line import LogLine

FOREVER = float("inf")


class ReadDeadline:
    """Deadline of one phase of one request; it starts now."""

    __slots__ = ("begun", "end", "limit", "phase")

    def __init__(self, phase: str, limit: ReadLimit) -> None:
        self.phase = phase
        self.limit = limit
        self.begun = monotonic()
        self.end = FOREVER

    def deadline_for(self, count: int) -> float:
        """Return the deadline (monotonic clock) of the complete phase after *count* bytes."""
        limit = self.limit
        if limit.first:
            more = count / limit.rate if limit.rate else 0.0
            seconds = limit.first + more
            self.end = self.begun + (min(seconds, limit.most) if limit.most else seconds)
        return self.end

    def is_expired(self) -> bool:
        """Return True if the deadline has passed."""
        return self.end <= monotonic()

    def line(self, version22: bool) -> LogLine:
        """Return the error-log line of an expired deadline."""
        return LogLine(
            "info", f"Request {self.phase} read timeout", "" if version22 else "AH01382", "reqtimeout"
        )


def start(limits: ReadLimits, *, body: bool) -> ReadDeadline:
    """Start the deadline of the phase that begins now."""
    return ReadDeadline("body", limits.body) if body else ReadDeadline("header", limits.header)
