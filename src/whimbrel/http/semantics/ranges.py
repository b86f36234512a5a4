"""Byte ranges: selection of the parts of a response, and framing of several parts (RFC 9110, 14).

2.4 joins adjacent ranges; 2.2 sends each as requested.  Both ignore a field with an invalid range, and one
that requests more bytes than there are.
"""

from __future__ import annotations

import re
from enum import Enum, auto

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.lazy_re import compile
from whimbrel.base.numbers import BLANKS, LONG_MAX, decimal
from whimbrel.http.semantics.headers import Headers

_NUMBER_24 = re.compile(r"[0-9]+", re.ASCII)
_NUMBER_22 = re.compile(r"[ \t\n\v\f\r]*[+-]?[0-9]+", re.ASCII)
_SINGLE = compile(r"([0-9]{1,18})-([0-9]{1,18})")  # the common form, which both versions read alike


class RangeResult(Enum):
    """The result: send all, send the parts, or 416."""

    FULL = auto()
    PARTS = auto()
    UNSATISFIABLE = auto()


@dataclass(frozen=True, slots=True)
class RangeLimits:
    """MaxRanges, MaxRangeOverlaps, MaxRangeReversals; -1 is unlimited, 0 none."""

    ranges: int = 200
    overlaps: int = 20
    reversals: int = 20


@dataclass(frozen=True, slots=True)
class Ranges:
    """The outcome: *parts* (first, last byte) as sent; 2.4 counts *overlaps* and *reversals*."""

    verdict: RangeResult
    parts: tuple[tuple[int, int], ...] = ()
    overlaps: int = 0
    reversals: int = 0


_FULL = Ranges(RangeResult.FULL)
_NONE_FITS = Ranges(RangeResult.UNSATISFIABLE)
DEFAULT_LIMITS = RangeLimits()


def range_header(headers: Headers, *, version22: bool = False) -> str | None:
    """Return the ranges requested; 2.2 also knows Request-Range."""
    value = headers.get("Range")
    return headers.get("Request-Range") if value is None and version22 else value


def parse_ranges(
    value: str | None, length: int, limits: RangeLimits = DEFAULT_LIMITS, *, version22: bool = False
) -> Ranges:
    """Return the parts of *length* bytes that a Range field requests; the caller evaluates If-Range
    (`conditional.range_still_fits`).
    """
    if value is None or value[:6].lower() != "bytes=" or (version22 and limits.ranges == 0):
        return _FULL
    part = _SINGLE.fullmatch(value, 6)
    if part is not None:
        start = int(part[1])
        end = int(part[2])
        if start >= length:
            return _NONE_FITS if start <= end else _FULL
        return (
            Ranges(RangeResult.PARTS, ((start, min(end, length - 1)),))
            if start <= end and limits.ranges
            else _FULL
        )
    specs = _parse_specs(value[6:], length, version22)
    if specs is None:
        return _FULL
    fitting = [(start, min(end, length - 1)) for start, end in specs if start < length]
    if not fitting:
        return _NONE_FITS if specs else _FULL
    if limits.ranges == 0:  # 2.4 checks first if no range is satisfiable
        return _FULL
    if not version22:
        return _joined(fitting, length, limits)
    if 0 <= limits.ranges < len(fitting) or sum(end - start + 1 for start, end in fitting) > length:
        return _FULL
    return Ranges(RangeResult.PARTS, tuple(fitting))


def _parse_specs(text: str, length: int, version22: bool) -> list[tuple[int, int]] | None:
    """Every range as (first, last), not cut at the end; None if one is wrong. ``0-`` beats all."""
    specs: list[tuple[int, int]] = []
    for word in re.split(",+", text):
        if not word:
            break
        found = _one(word, length, _NUMBER_22 if version22 else _NUMBER_24)
        if found is None:
            return None
        if found == (0, length - 1) and word.endswith("-"):
            return [found]
        specs.append(found)
    return specs


def _one(word: str, length: int, pattern: re.Pattern[str]) -> tuple[int, int] | None:
    first, dash, last = word.partition("-")
    if not dash:
        return None
    if not first:
        number = _number(last, pattern)
        return None if number is None or number < 1 else (max(0, length - number), length - 1)
    start = _number(first, pattern)
    if start is None:
        return None
    if not last:
        return max(0, start), length - 1
    end = _number(last, pattern)
    return None if end is None or start > end else (max(0, start), end)


def _number(text: str, pattern: re.Pattern[str]) -> int | None:
    if pattern.fullmatch(text) is None:
        return None
    digits = text.lstrip(BLANKS)
    number = decimal(digits.lstrip("+-"))
    if number > LONG_MAX:
        return None
    if digits[0] == "-":
        return -number
    return number


def _joined(specs: list[tuple[int, int]], length: int, limits: RangeLimits) -> Ranges:
    """2.4: each range joins the one before it where they touch; overlaps and steps backwards are counted."""
    parts: list[tuple[int, int]] = []
    low, high = specs[0]
    overlaps = 0
    reversals = 0
    for start, end in specs[1:]:
        joins = start >= low and end <= high
        if start < low and end >= low - 1:
            low = start
            joins = True
            reversals += 1
        if end >= high and start <= high + 1:
            high = end
            joins = True
        if joins:
            overlaps += 1
        else:
            parts.append((low, high))
            low = start
            high = end
    parts.append((low, high))
    if (
        _too_many(len(parts), limits.ranges)
        or _too_many(overlaps, limits.overlaps)
        or _too_many(reversals, limits.reversals)
    ):
        return _FULL
    if sum(end - start + 1 for start, end in parts) > length:
        return _FULL
    return Ranges(RangeResult.PARTS, tuple(parts), overlaps, reversals)


def _too_many(count: int, limit: int) -> bool:
    return 0 <= limit < count


def content_range(part: tuple[int, int], length: int) -> str:
    """Return the value of Content-Range for one part."""
    return f"bytes {part[0]}-{part[1]}/{length}"


def multipart_type(headers: Headers, boundary: str, *, version22: bool = False) -> str:
    """The Content-Type of several parts; 2.2 gives clients older than the standard the name of its draft."""
    draft = version22 and ("MSIE 3" in (headers.get("User-Agent") or "") or "Request-Range" in headers)
    return f"multipart/{'x-' if draft else ''}byteranges; boundary={boundary}"


def part_head(part: tuple[int, int], length: int, boundary: str, content_type: str | None) -> bytes:
    """Return the bytes before the data of one part."""
    kind = f"Content-type: {content_type}\r\n" if content_type else ""
    return to_bytes(f"\r\n--{boundary}\r\n{kind}Content-range: {content_range(part, length)}\r\n\r\n")


def multipart_end(boundary: str) -> bytes:
    """Return the bytes after the last part."""
    return to_bytes(f"\r\n--{boundary}--\r\n")
