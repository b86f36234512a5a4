"""Streams made of parts."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from whimbrel.engine.input.body import PIECE, FileSegment, Joined


class Two:
    """A stream of two pieces that notes how it ends."""

    def __init__(self) -> None:
        self.left, self.ended = [b"one", b"two"], ""

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if not self.left:
            raise StopAsyncIteration
        return self.left.pop(0)

    async def aclose(self) -> None:
        self.ended = "closed"

    def drop(self) -> None:
        self.ended = "dropped"


def part_of(path: Path, data: bytes) -> FileSegment:
    path.write_bytes(data)
    return FileSegment(os.open(path, os.O_RDONLY), 0, len(data))


async def gathered(stream: Joined) -> list[bytes]:
    return [piece async for piece in stream]


def is_open(part: FileSegment) -> bool:
    try:
        os.fstat(part.handle)
    except OSError:
        return False
    return True


def test_parts_in_their_order(tmp_path: Path) -> None:
    data = os.urandom(2 * PIECE + 5)
    part, empty = part_of(tmp_path / "a", data), part_of(tmp_path / "b", b"")
    found = asyncio.run(gathered(Joined([b"", b"x", empty, part, Two(), b"y"])))
    assert b"".join(found) == b"x" + data + b"onetwoy"
    assert max(map(len, found)) == PIECE and b"" not in found
    assert not is_open(part)


@pytest.mark.parametrize("how", ["closed", "dropped"])
def test_what_is_not_read_is_closed(how: str, tmp_path: Path) -> None:
    part, stream = part_of(tmp_path / "a", b"abc"), Two()
    joined = Joined([b"x", part, stream])
    if how == "closed":
        asyncio.run(joined.aclose())
    else:
        joined.drop()
    assert (stream.ended, is_open(part)) == (how, False)
    assert asyncio.run(gathered(joined)) == []
