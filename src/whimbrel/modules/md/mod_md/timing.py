"""Times of renewals: windows of certificates, delays after errors.  All times are seconds since the epoch."""

from __future__ import annotations

from calendar import timegm
from collections.abc import Iterable
from email.utils import parsedate
from typing import Final

from whimbrel.http.semantics.dates import format_http
from whimbrel.modules.md.mod_md.settings import DAY, Slice

MAX_DELAY: Final = float(DAY)
# ends of problem types that retries do not solve (RFC 8555, 6.7)
_OF_INPUT: Final = (
    "badCSR",
    "badSignatureAlgorithm",
    "externalAccountRequired",
    "invalidContact",
    "unsupportedContact",
    "malformed",
    "rejectedIdentifier",
    "unsupportedIdentifier",
    "userActionRequired",
)


def begin_of(part: Slice, begin: float, end: float) -> float:
    """Return when the window *part* before *end* begins (md_timeperiod_slice_before_end)."""
    length = end - begin
    seconds = int(length) * part.percent // 100 if part.percent else part.seconds
    return end - min(seconds, length)


def renew_at(lifetimes: Iterable[tuple[float, float] | None], part: Slice, now: float) -> float:
    """Return when certificates with these lifetimes are to be renewed; *now* if one is missing (None)."""
    found = []
    for lifetime in lifetimes:
        if lifetime is None:
            return now
        found.append(begin_of(part, *lifetime))
    return min(found, default=now)


def should_warn(lifetimes: Iterable[tuple[float, float] | None], part: Slice, now: float) -> bool:
    """Return True if a certificate ends soon; none is missing."""
    known = list(lifetimes)
    return None not in known and any(
        lifetime is not None and begin_of(part, *lifetime) <= now for lifetime in known
    )


def is_of_input(problem: str) -> bool:
    """Return True if a problem of ACME is about what the server sends: retries will not help."""
    return problem.rpartition(":")[2] in _OF_INPUT


def retry_delay(errors: int, first: float, problem: str, chance: float) -> float:
    """Return the seconds until the next attempt after *errors* failures in a row.

    They double from *first* on, up to a day, and vary by half of their whole seconds; *chance* is below 1.
    """
    delay = MAX_DELAY if is_of_input(problem) else min(first * 2 ** min(errors - 1, 40), MAX_DELAY)
    return delay + int(int(delay) * (chance - 0.5))


def next_check(interval: float, chance: float) -> float:
    """Return the seconds until the next check: half of *interval* to one and a half."""
    return interval + interval * (chance - 0.5)


def date_text(seconds: float) -> str:
    """Return a time as the store has it (RFC 822)."""
    return format_http(int(seconds))


def date_from(text: object) -> float:
    """Return the time of a text in the store, 0 if it is malformed."""
    fields = parsedate(text) if isinstance(text, str) else None
    try:
        return float(timegm(fields)) if fields else 0.0
    except (ValueError, OverflowError):
        return 0.0
