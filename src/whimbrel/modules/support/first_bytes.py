"""The first bytes of a response body: read before its head is sent, cut, and put back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from whimbrel.engine.body import PIECE, FileSegment, JoinedSource, Part, Source

if TYPE_CHECKING:
    from whimbrel.engine.request import Request


async def first_bytes(r: Request, least: int = 1) -> bytes:
    """Return the bytes at the start of `r.body`, which stays complete: *least* of them, or all there are.

    Of complete parts that need no wait, up to `PIECE` bytes are returned.
    """
    data = b""
    ready = len(r.body)
    rest = len(r.body)
    for index, part in enumerate(r.body):
        if isinstance(part, Source):
            ready = index
            break
        size = PIECE - len(data)
        data += (
            os.pread(part.handle, min(size, part.length), part.offset)
            if isinstance(part, FileSegment)
            else part[:size]
        )
        if len(data) >= PIECE:
            return data
    if ready < rest and len(data) < least:
        rests: list[Part] = r.body[ready:]
        source = JoinedSource(rests)
        while len(data) < least and (more := await source.read()) is not None:
            r.body[ready:] = [*r.body[ready:-1], more, source] if r.body[-1] is source else [more, source]
            data += more
    return data


def cut(parts: list[Part], start: int, end: int) -> list[Part]:
    """Return *parts* without the bytes from *start* to *end*, which come from `first_bytes`."""
    rest: list[Part] = []
    at = 0
    for part in parts:
        if isinstance(part, Source):
            rest.append(part)
            continue
        size = part.length if isinstance(part, FileSegment) else len(part)
        low = max(0, min(size, start - at))
        high = max(0, min(size, end - at))
        if low >= high:
            rest.append(part)
        elif isinstance(part, bytes):
            rest += [piece for piece in (part[:low], part[high:]) if piece]
        else:
            rest += _cut_file(part, low, high)
        at += size
    return rest


def _cut_file(part: FileSegment, low: int, high: int) -> list[Part]:
    """Return a segment without some bytes; what precedes them is read, as one part closes the file."""
    before = os.pread(part.handle, low, part.offset) if low else b""
    rest = FileSegment(part.handle, part.offset + high, part.length - high)
    return [before, rest] if before else [rest]
