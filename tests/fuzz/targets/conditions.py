"""Ranges, conditions, dates and entity tags of requests: no exception; parts lie inside the document, their
length is the announced one, and a date is read back as it is written.

The values of `NAMES` are separated by line feeds.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.fuzz import seeds as recorded
from whimbrel.http.semantics.conditional import PreconditionResult, meets_conditions, range_still_fits
from whimbrel.http.semantics.dates import error_log_time, format_http, log_time, parse_http
from whimbrel.http.semantics.headers import Headers
from whimbrel.http.semantics.ranges import (
    DEFAULT_LIMITS,
    RangeLimits,
    RangeResult,
    content_range,
    multipart_type,
    parse_ranges,
    part_head,
    range_header,
)

COVERED = (
    "http/semantics/ranges.py",
    "http/semantics/conditional.py",
    "http/semantics/dates.py",
)
TOKENS = (
    b"bytes=",
    b"0-",
    b"-5",
    b"1-3,",
    b",",
    b'"a"',
    b"W/",
    b"*",
    b"\n",
    b"Sun, 13 Sep 2020 12:26:40 GMT",
    b"Sep",
    b"-0",
    b" ",
)
NAMES = (
    "Range",
    "If-Range",
    "If-Match",
    "If-None-Match",
    "If-Modified-Since",
    "If-Unmodified-Since",
    "Request-Range",
)
LENGTHS = (0, 1, 10, 1 << 40)
LIMITS = (DEFAULT_LIMITS, RangeLimits(0, 0, 0), RangeLimits(-1, -1, -1), RangeLimits(3, 1, 1))
TIME = 1_600_000_000


def seeds() -> Sequence[bytes]:
    families = ("core-http", "core-headers", "modules-cache", "core-random")
    found = [[*recorded.fields(name, *families)] for name in NAMES]
    lines = [b"\n".join([b""] * at + [value]) for at, values in enumerate(found) for value in values]
    written = [
        b'bytes=0-4,5-9,-1\n"a"\n"a", W/"b"\n*\nSun, 13 Sep 2020 12:26:40 GMT\nSun Sep 13 12:26:40 2020',
        b"bytes=5-,0-1,,3-2\nSunday, 13-Sep-20 12:26:40 GMT",
        b"bytes=" + b"0-0," * 300,
        b"bytes=99999999999999999999-\n\n\n\nThu, 31 Feb 2000 25:61:61 GMT",
    ]
    return [*recorded.few(lines, 80), *written]


def run(data: bytes) -> None:
    values = data.decode("latin-1").split("\n")
    headers = Headers(list(zip(NAMES, values, strict=False)))
    for version22 in (False, True):
        for method, etag, modified in (("GET", '"a"', TIME), ("PUT", 'W/"a"', None), ("HEAD", None, TIME)):
            result = meets_conditions(method, headers, etag, modified, TIME + 100, version22=version22)
            assert isinstance(result, PreconditionResult)
            range_still_fits(headers, etag, modified, TIME + 100, version22=version22)
        value = range_header(headers, version22=version22)
        for length in LENGTHS:
            for limits in LIMITS:
                _check_parts(value, length, limits, version22)
    log_time(TIME)
    error_log_time(TIME, microseconds=True)
    for value in values:
        moment = parse_http(value)
        if moment is not None and 0 <= moment < 253_402_300_800:  # to the year 9999
            assert parse_http(format_http(moment)) == moment


def _check_parts(value: str | None, length: int, limits: RangeLimits, version22: bool) -> None:
    found = parse_ranges(value, length, limits, version22=version22)
    assert (found.verdict is RangeResult.PARTS) == bool(found.parts)
    assert all(0 <= first <= last < length for first, last in found.parts)
    if limits.ranges >= 0:
        assert len(found.parts) <= limits.ranges
    if len(found.parts) > 1 and length < 1000:
        kind = multipart_type(Headers(), "x", version22=version22)
        heads = [part_head(part, length, "x", kind) for part in found.parts]
        assert all(head.startswith(b"\r\n--x\r\n") for head in heads)
        assert content_range(found.parts[0], length).startswith("bytes ")
