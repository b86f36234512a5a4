"""Bodies in steps: the sizes of the pieces, and no more in memory than one of them."""

from __future__ import annotations

import asyncio

from whimbrel.engine.body import PIECE, Part
from whimbrel.modules.support.throttled_source import ThrottledSource


def sizes(parts: list[Part], step: int, burst: int = 0) -> list[int]:
    """Return the lengths of all pieces of a source without pauses."""

    async def read() -> list[int]:
        source, found = ThrottledSource(parts, step, 0.0, burst), []
        while (piece := await source.read()) is not None:
            found.append(len(piece))
        return found

    return asyncio.run(read())


def test_a_burst_and_steps() -> None:
    assert sizes([b"x" * 300, b"y" * 30], 50, 250) == [250, 50, 30]
    assert sizes([b"x" * 25], 12) == [12, 12, 1]
    assert sizes([b"x" * 24], 12) == [12, 12]


def test_a_burst_is_not_gathered() -> None:
    assert max(sizes([b"x" * PIECE] * 8, 10 * PIECE, 8 * PIECE)) == PIECE
