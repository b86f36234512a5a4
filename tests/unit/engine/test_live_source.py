"""Sources whose pauses are flushes."""

from __future__ import annotations

import asyncio

from whimbrel.engine.body import JoinedSource
from whimbrel.engine.live_source import FLUSH_WAIT, LiveSource


class Arriving(LiveSource):
    """A source of bytes that a test adds."""

    def __init__(self, flush_wait: float | None = FLUSH_WAIT) -> None:
        super().__init__(flush_wait)
        self.pieces: list[bytes] = []
        self.has_ended = False
        self._event = asyncio.Event()

    def add(self, data: bytes) -> None:
        """Let *data* arrive; b"" is the end."""
        self.has_ended = not data
        self.pieces += [data] if data else []
        self._event.set()

    def read_now(self) -> bytes | None:
        """See Source."""
        if self.pieces:
            return self.pieces.pop(0)
        return None if self.has_ended else b""

    async def wait(self) -> None:
        """See LiveSource."""
        self._event.clear()
        await self._event.wait()

    def wake(self) -> None:
        """See LiveSource."""
        self._event.set()


def test_a_pause_is_one_flush() -> None:
    async def main() -> list[bytes | None]:
        source, loop = Arriving(), asyncio.get_running_loop()
        source.add(b"one")
        seen = [await source.read_or_flush(), await source.read_or_flush()]
        loop.call_later(10 * FLUSH_WAIT, source.add, b"two")
        seen += [await source.read_or_flush()]
        source.add(b"")
        return [*seen, await source.read_or_flush()]

    assert asyncio.run(main()) == [b"one", b"", b"two", None]


def test_head_is_flushed_before_the_first_bytes() -> None:
    async def main() -> bytes | None:
        return await Arriving().read_or_flush()

    assert asyncio.run(main()) == b""


def test_bytes_that_come_soon_are_no_pause() -> None:
    async def main() -> list[bytes | None]:
        source = Arriving(flush_wait=5.0)
        asyncio.get_running_loop().call_soon(source.add, b"one")
        first = await source.read_or_flush()
        asyncio.get_running_loop().call_soon(source.add, b"")
        return [first, await source.read_or_flush()]

    assert asyncio.run(main()) == [b"one", None]


def test_source_without_flushes_waits() -> None:
    async def main() -> bytes | None:
        source = Arriving(flush_wait=None)
        asyncio.get_running_loop().call_later(3 * FLUSH_WAIT, source.add, b"one")
        return await source.read_or_flush()

    assert asyncio.run(main()) == b"one"


def test_joined_parts_have_the_flushes_of_their_sources() -> None:
    async def main() -> list[bytes | None]:
        source = Arriving()
        joined = JoinedSource([b"before", source, b"after"])
        seen = [await joined.read_or_flush(), await joined.read_or_flush()]
        source.add(b"")
        return [*seen, await joined.read_or_flush(), await joined.read_or_flush()]

    assert asyncio.run(main()) == [b"before", b"", b"after", None]
