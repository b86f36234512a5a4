"""RequestReadTimeout while a head or a body arrives: it must be complete by a time that moves with the bytes that come.

Manual: mod/mod_reqtimeout.html.
"""

from __future__ import annotations

from time import monotonic

from whimbrel.config.read_limits import ReadLimit, ReadLimits
from whimbrel.engine.log.error_log_line import LogLine

FOREVER = float("inf")


class ReadDeadline:
    """One phase of one request; its time runs from here on."""

    __slots__ = ("begun", "end", "limit", "phase")

    def __init__(self, phase: str, limit: ReadLimit) -> None:
        self.phase, self.limit = phase, limit
        self.begun, self.end = monotonic(), FOREVER

    def deadline_for(self, count: int) -> float:
        """The time (of the monotonic clock) by which all must be there, when *count* bytes have come."""
        limit = self.limit
        if limit.first:
            more = count / limit.rate if limit.rate else 0.0
            seconds = limit.first + more
            self.end = self.begun + (min(seconds, limit.most) if limit.most else seconds)
        return self.end

    def is_expired(self) -> bool:
        """Whether that time has passed."""
        return self.end <= monotonic()

    def line(self, version22: bool) -> LogLine:
        """What the error log says then."""
        return LogLine(
            "info", f"Request {self.phase} read timeout", "" if version22 else "AH01382", "reqtimeout"
        )


def start(limits: ReadLimits, *, body: bool) -> ReadDeadline:
    """The phase that begins now."""
    return ReadDeadline("body", limits.body) if body else ReadDeadline("header", limits.header)
