"""Cache of compressed bodies, so that one content is compressed once.

It serves what the response cache has to separate: HEAD, ranges, conditions, both protocols, other fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from whimbrel.engine.body import PIECE, FileSegment, JoinedSource, content, is_complete, size_of, sized
from whimbrel.engine.coroutines import yield_to_loop

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

MAX_BYTES: Final = 8 << 20  # of all bodies, with `ENTRY_COST` for each
MAX_OUTPUT: Final = 256 * 1024  # bytes of one compressed body
MAX_INPUT: Final = 1 << 20  # bytes of a content that is looked up
ENTRY_COST: Final = 512
MAX_AT_ONCE: Final = 256 * 1024  # bytes of a content whose digest is computed in one call
_BODIES: Final = "coded bodies"
Key = tuple[Any, ...]


class CodedBody(NamedTuple):
    """A compressed body: *early* is `Transform.early`; *size* counts the bytes without wrapping."""

    data: bytes
    early: bool
    size: int


class CodedBodies:
    """Compressed bodies by digest of their content and parameters of the compressor.

    An entry is valid forever; `MAX_BYTES` and `MAX_OUTPUT` bound the cache. The entries that were used
    longest ago are dropped.
    """

    __slots__ = ("_bodies", "_bytes")

    def __init__(self) -> None:
        self._bodies: dict[Key, CodedBody] = {}
        self._bytes = 0

    def get(self, key: Key) -> CodedBody | None:
        """Return the entry, which becomes the youngest."""
        entry = self._bodies.pop(key, None)
        if entry is not None:
            self._bodies[key] = entry
        return entry

    def put(self, key: Key, entry: CodedBody) -> None:
        """Store *entry*."""
        old = self._bodies.pop(key, None)
        if old is not None:
            self._bytes -= len(old.data) + ENTRY_COST
        if len(entry.data) > MAX_OUTPUT:
            return
        self._bytes += len(entry.data) + ENTRY_COST
        self._bodies[key] = entry
        while self._bytes > MAX_BYTES:
            eldest = next(iter(self._bodies))
            self._bytes -= len(self._bodies.pop(eldest).data) + ENTRY_COST


def coded_bodies(r: Request) -> CodedBodies:
    """Return the cache of the worker."""
    notes = r.engine.plans.root(r.engine.main).notes
    bodies: CodedBodies | None = notes.get(_BODIES)
    if bodies is None:
        bodies = notes[_BODIES] = CodedBodies()
    return bodies


def is_recurring(r: Request) -> bool:
    """Return True if the body of *r* is complete, short enough, and likely to be sent again."""
    return (
        not r.chunked
        and (not r.deps.is_uncacheable or is_file(r))
        and is_complete(r.body)
        and sum(map(size_of, r.body)) <= MAX_INPUT
    )


def is_small(r: Request) -> bool:
    """Return True if the digest of the complete body of *r* takes a fraction of a millisecond."""
    return sum(map(size_of, r.body)) <= MAX_AT_ONCE


def is_file(r: Request) -> bool:
    """Return True if the body is a file, which may have been read into memory."""
    if len(r.body) != 1:
        return False
    part = r.body[0]
    return isinstance(part, FileSegment) or (
        isinstance(part, bytes) and r.finfo is not None and len(part) == r.finfo.st_size
    )


def digest_now(r: Request) -> bytes:
    """Read the small body of *r* into memory; return its digest."""
    from hashlib import sha256  # not needed before the first response

    data = content(r.body)
    r.body = [data] if data else []
    return sha256(data).digest()


async def digest_in_pieces(r: Request) -> bytes:
    """Read the body of *r* into memory, in pieces; return its digest."""
    from hashlib import sha256

    digest, parts, source = sha256(), list[bytes](), JoinedSource(sized(r.body))
    r.body = []
    try:
        while (data := await source.read()) is not None:
            for at in range(0, len(data), PIECE):
                piece = data[at : at + PIECE]
                digest.update(piece)
                parts.append(piece)
                await yield_to_loop()
    finally:
        await source.aclose()
    r.body = [*parts]
    return digest.digest()
