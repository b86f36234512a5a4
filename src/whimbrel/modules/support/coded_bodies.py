"""Cache of compressed bodies, so that one content is compressed once.

It serves what the response cache has to separate: HEAD, ranges, conditions, both protocols, other fields.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from whimbrel.engine.body import PIECE, FileSegment, JoinedSource, content, is_complete, size_of, sized
from whimbrel.engine.coroutines import yield_to_loop

if TYPE_CHECKING:
    from whimbrel.engine.output.filter import Transform
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


class RecordedOutput:
    """Output of one compressor, for the cache; it records nothing if *key* is None."""

    __slots__ = ("_key", "_pieces", "_request", "_size")

    def __init__(self, r: Request, key: Key | None) -> None:
        self._request = r
        self._key = key
        self._size = 0
        self._pieces: list[bytes] | None = [] if key is not None else None

    def add(self, out: bytes) -> None:
        """Record the next bytes, unless they are too many for the cache."""
        if self._pieces is not None:
            self._pieces.append(out)
            self._size += len(out)
            if self._size > MAX_OUTPUT:
                self._pieces = None

    def discard(self) -> None:
        """Record nothing: the output is incomplete."""
        self._pieces = None

    def store(self, *, early: bool, size: int) -> None:
        """Store the output at its end; for *early* and *size* see `CodedBody`."""
        if self._key is not None and self._pieces is not None:
            coded_bodies(self._request).put(self._key, CodedBody(b"".join(self._pieces), early, size))


def coded_bodies(r: Request) -> CodedBodies:
    """Return the cache of the worker."""
    notes = r.engine.plans.root(r.engine.main).notes
    bodies: CodedBodies | None = notes.get(_BODIES)
    if bodies is None:
        bodies = CodedBodies()
        notes[_BODIES] = bodies
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

    digest = sha256()
    parts = list[bytes]()
    source = JoinedSource(sized(r.body))
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


def begin_coded(
    r: Request,
    parameters: Key,
    make: Callable[[Key | None], Transform],
    report: Callable[[int, int], None],
) -> Transform | None | Awaitable[Transform | None]:
    """Set the compressed body from the cache and return None; if it is not there, return its compressor.

    *parameters* are the coding and all that its output depends on beside the content. *make* returns the
    compressor of an output with a key. *report* logs the sizes of content and output of a cached body.
    """
    if not is_recurring(r):
        return make(None)
    if is_small(r):
        return _from_cache(r, (digest_now(r), *parameters), make, report)
    return _begin_large(r, parameters, make, report)


async def _begin_large(
    r: Request, parameters: Key, make: Callable[[Key | None], Transform], report: Callable[[int, int], None]
) -> Transform | None:
    return _from_cache(r, (await digest_in_pieces(r), *parameters), make, report)


def _from_cache(
    r: Request, key: Key, make: Callable[[Key | None], Transform], report: Callable[[int, int], None]
) -> Transform | None:
    entry = coded_bodies(r).get(key)
    if entry is None:
        return make(key)
    size = sum(map(size_of, r.body))
    r.body = [entry.data]
    r.chunked = entry.early
    if not (entry.early and r.header_only):
        report(size, entry.size)
    return None
