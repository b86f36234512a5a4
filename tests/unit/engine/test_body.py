"""Bodies: sources made of parts; truncated files."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from whimbrel.engine.body import PIECE, Aborted, FileSegment, JoinedSource, Source


class Two(Source):
    """Source of two pieces that records how it ends."""

    def __init__(self) -> None:
        self.left, self.ended = [b"one", b"two"], ""

    async def read(self) -> bytes | None:
        return self.left.pop(0) if self.left else None

    async def aclose(self) -> None:
        self.ended = "closed"

    def drop(self) -> None:
        self.ended = "dropped"


def part_of(path: Path, data: bytes) -> FileSegment:
    path.write_bytes(data)
    return FileSegment(os.open(path, os.O_RDONLY), 0, len(data))


async def gathered(source: Source) -> list[bytes]:
    pieces = []
    while (piece := await source.read()) is not None:
        pieces.append(piece)
    return pieces


def is_open(part: FileSegment) -> bool:
    try:
        os.fstat(part.handle)
    except OSError:
        return False
    return True


def test_parts_in_their_order(tmp_path: Path) -> None:
    data = os.urandom(2 * PIECE + 5)
    part, empty = part_of(tmp_path / "a", data), part_of(tmp_path / "b", b"")
    found = asyncio.run(gathered(JoinedSource([b"", b"x", empty, part, Two(), b"y"])))
    assert b"".join(found) == b"x" + data + b"onetwoy"
    assert max(map(len, found)) == PIECE and b"" not in found
    assert not is_open(part)


@pytest.mark.parametrize("how", ["closed", "dropped"])
def test_what_is_not_read_is_closed(how: str, tmp_path: Path) -> None:
    part, source = part_of(tmp_path / "a", b"abc"), Two()
    joined = JoinedSource([b"x", part, source])
    if how == "closed":
        asyncio.run(joined.aclose())
    else:
        joined.drop()
    assert (source.ended, is_open(part)) == (how, False)
    assert asyncio.run(gathered(joined)) == []


def test_a_file_that_became_shorter_aborts(tmp_path: Path) -> None:
    part = part_of(tmp_path / "a", b"abc")
    os.truncate(tmp_path / "a", 1)
    source = JoinedSource([part])
    assert asyncio.run(source.read()) == b"a"
    with pytest.raises(Aborted):
        asyncio.run(source.read())
    asyncio.run(source.aclose())
    assert not is_open(part)


def test_a_file_outside_the_page_cache_is_read_in_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def blocks(*_arguments: object) -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "preadv", blocks)
    source = JoinedSource([part_of(tmp_path / "a", b"abc"), b"d"])
    assert source.read_now() == b""
    assert asyncio.run(gathered(source)) == [b"abc", b"d"]
