"""The first bytes of bodies of bytes, files and sources, and bodies without some of them."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from whimbrel.engine.body import PIECE, FileSegment, JoinedSource, Part, Source
from whimbrel.modules.support.first_bytes import cut, first_bytes


class Pieces(Source):
    """A source of given pieces."""

    def __init__(self, *pieces: bytes) -> None:
        self.left = list(pieces)

    async def read(self) -> bytes | None:
        """Return the next piece."""
        return self.left.pop(0) if self.left else None


def run(parts: list[Part], least: int = 1) -> tuple[bytes, bytes]:
    """Return the first bytes, and the whole body that is left."""

    async def both() -> tuple[bytes, bytes]:
        r: Any = SimpleNamespace(body=parts)
        start = await first_bytes(r, least)
        source, out = JoinedSource(r.body), b""
        while (data := await source.read()) is not None:
            out += data
        return start, out

    return asyncio.run(both())


def segment(tmp_path: Path, data: bytes) -> FileSegment:
    """Return all of a new file."""
    (tmp_path / "x").write_bytes(data)
    return FileSegment(os.open(tmp_path / "x", os.O_RDONLY), 0, len(data))


def test_bytes_and_files(tmp_path: Path) -> None:
    assert run([b"ab", segment(tmp_path, b"cdef")]) == (b"abcdef", b"abcdef")
    data = os.urandom(PIECE * 2)
    assert run([segment(tmp_path, data)]) == (data[:PIECE], data)


def test_sources() -> None:
    assert run([b"a", Pieces(b"bc", b"d", b"ef"), b"g"], 4) == (b"abcd", b"abcdefg")
    assert run([Pieces(b"a")], 10) == (b"a", b"a")
    assert run([], 10) == (b"", b"")


def test_cuts(tmp_path: Path) -> None:
    parts: list[Part] = [b"ab", segment(tmp_path, b"cdef"), Pieces(b"gh")]
    assert run(cut(parts, 1, 4))[1] == b"aefgh"
    parts = [b"ab", segment(tmp_path, b"cdef")]
    assert run(cut(parts, 3, 5))[1] == b"abcf"
