"""Parts of a response for a Range request: httpd's byterange filter."""

from __future__ import annotations

import os
import time
from typing import Final

from whimbrel.engine.body import FileSegment, Part, is_piped, size_of, sized
from whimbrel.engine.output.media_type import content_type
from whimbrel.engine.request import Request
from whimbrel.http.semantics.conditional import range_still_fits
from whimbrel.http.semantics.dates import parse_http
from whimbrel.http.semantics.ranges import (
    RangeLimits,
    RangeResult,
    content_range,
    multipart_end,
    multipart_type,
    parse_ranges,
    part_head,
    range_header,
)

UNSATISFIABLE: Final = 416
MICROSECONDS: Final = 1_000_000
IF_RANGE: Final = frozenset(("if-range",))
AT_ONCE: Final = (
    32  # httpd passes so many ranges on together: with more the length is not known when the head is sent
)


def apply_ranges(r: Request) -> int:
    """Cut the body to the requested ranges; return the status, 416 if none is satisfiable."""
    old = r.plan.dialect.wire_22
    fields = r.headers_out.entries()
    value = range_header(r.headers_in, version22=old)
    is_refused = old and r.headers_out.get_list("Accept-Ranges") == "none"
    if value is None or "content-range" in fields or is_refused:
        return r.status
    if not r.headers_in.has_none(IF_RANGE):
        tag = r.headers_out.get("ETag")
        seconds = _modified(r, old)
        if not range_still_fits(r.headers_in, tag, seconds, int(r.time), version22=old):
            return r.status
    if is_piped(r.body):
        return r.status
    core = r.plan.core
    length = sum(map(size_of, r.body))
    ranges = parse_ranges(
        value, length, RangeLimits(core.max_ranges, core.max_overlaps, core.max_reversals), version22=old
    )
    if not old and ranges.verdict is RangeResult.PARTS:
        joined = ",".join([f"{first}-{last}" for first, last in ranges.parts])
        counts = f"{ranges.overlaps} : {ranges.reversals} : {length}"
        text = f"Range: {value.partition('=')[2]} | {joined} ({counts})"
        r.log("debug", text, code="AH01583", module="http")
    if ranges.verdict is RangeResult.FULL or not length:
        return r.status
    if ranges.verdict is RangeResult.UNSATISFIABLE:
        return UNSATISFIABLE
    _cut(r, ranges.parts, length, old)
    return r.status


def _modified(r: Request, old: bool) -> int | None:
    """Return the time that a date in If-Range has to equal: of the field, else (2.4) of the file; seconds."""
    modified = r.headers_out.get("Last-Modified")
    if modified is not None:
        return parse_http(modified)
    return None if old or r.mtime is None else r.mtime // MICROSECONDS


def _cut(r: Request, parts: tuple[tuple[int, int], ...], length: int, old: bool) -> None:
    full = r.body
    r.status = 206
    if len(parts) == 1:
        r.headers_out.set("Content-Range", content_range(parts[0], length))
        r.body = _slice(full, *parts[0])
    else:
        boundary = _boundary() if old else r.engine.configuration.boundary
        kind = content_type(r)
        r.content_type = multipart_type(r.headers_in, boundary, version22=old)
        r.body = []
        for part in parts:
            r.body.append(part_head(part, length, boundary, kind))
            r.body += _slice(full, *part)
        r.body.append(multipart_end(boundary))
        if len(parts) > AT_ONCE:
            r.chunked = True
            r.headers_out.unset("Content-Length")
        r.set_uncacheable()
    for piece in full:
        if isinstance(piece, FileSegment):
            os.close(piece.handle)


def _boundary() -> str:
    """Return a boundary as 2.2 makes it for each response: the time and the connection's number."""
    return f"{int(time.time() * 1e6):x}{os.getpid() & 15:x}"


def _slice(body: list[Part], first: int, last: int) -> list[Part]:
    """Return the bytes from *first* to *last*; file segments get descriptors of their own."""
    out: list[Part] = []
    at = 0
    for piece in sized(body):
        size = size_of(piece)
        low = max(first - at, 0)
        high = min(last + 1 - at, size)
        at += size
        if low >= high:
            continue
        if isinstance(piece, FileSegment):
            out.append(FileSegment(os.dup(piece.handle), piece.offset + low, high - low))
        else:
            out.append(piece[low:high])
    return out
