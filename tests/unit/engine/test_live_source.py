"""Sources whose pauses are flushes, or are noticed without a flush."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from whimbrel.engine.body import Aborted, JoinedSource, Source
from whimbrel.engine.live_source import FLUSH_WAIT, LiveSource, PausingSource, joined


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


class Slow(Source):
    """A source with the results *pieces*: bytes, seconds to pause, an exception to raise."""

    def __init__(self, *pieces: bytes | float | Exception) -> None:
        self.pieces = list(pieces)
        self.cancelled = self.closed = self.dropped = False

    async def read(self) -> bytes | None:
        """See Source."""
        while self.pieces:
            piece = self.pieces.pop(0)
            if isinstance(piece, Exception):
                raise piece
            if isinstance(piece, bytes):
                return piece
            try:
                await asyncio.sleep(piece)
            except asyncio.CancelledError:
                self.cancelled = True
                raise
        return None

    def drop(self) -> None:
        """See Source."""
        self.dropped = True

    async def aclose(self) -> None:
        """See Source."""
        self.closed = True


async def seen(source: PausingSource, count: int) -> list[tuple[bytes | None, bool]]:
    """Return *count* results, each with True for a flush."""
    return [(await source.read_or_flush(), source.has_flush) for _ in range(count)]


def run(work: Callable[[], Awaitable[object]]) -> object:
    """Return the result of *work*; a task whose failure is not retrieved fails the test."""
    problems: list[object] = []

    async def main() -> object:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))
        return await work()

    result = asyncio.run(main())
    assert not problems
    return result


def test_a_pause_behind_bytes_is_noticed_once_and_is_no_flush() -> None:
    source = Slow(b"one", 6 * FLUSH_WAIT, b"two")

    async def main() -> object:
        return await seen(PausingSource(JoinedSource([source])), 4)

    assert run(main) == [(b"one", False), (b"", False), (b"two", False), (None, True)]


def test_a_pause_before_the_first_bytes_is_waited_for() -> None:
    async def main() -> object:
        return await seen(PausingSource(JoinedSource([Slow(3 * FLUSH_WAIT, b"one")])), 1)

    assert run(main) == [(b"one", False)]


def test_flushes_of_the_source_are_told_from_pauses() -> None:
    async def main() -> object:
        return await seen(PausingSource(JoinedSource([Slow(b"one", b"", b"two")])), 3)

    assert run(main) == [(b"one", False), (b"", True), (b"two", False)]


def test_failure_behind_a_pause_reaches_the_reader() -> None:
    async def main() -> object:
        source = PausingSource(JoinedSource([Slow(b"one", 4 * FLUSH_WAIT, Aborted("ended"))]))
        first = await seen(source, 2)
        with pytest.raises(Aborted):
            await source.read()
        return first

    assert run(main) == [(b"one", False), (b"", False)]


@pytest.mark.parametrize("last", [9.0, 2 * FLUSH_WAIT])
def test_close_ends_the_read_that_outlasts_a_pause(last: float) -> None:
    slow = Slow(b"one", last, Aborted("ended"))

    async def main() -> object:
        source = PausingSource(JoinedSource([slow]))
        await seen(source, 2)
        if last < 1:
            while slow.pieces:
                await asyncio.sleep(FLUSH_WAIT)
        await source.aclose()
        return slow.closed, slow.cancelled

    assert run(main) == (True, last > 1)


def test_drop_cancels_the_read_and_drops_the_source() -> None:
    slow = Slow(b"one", 9.0)

    async def main() -> object:
        source = PausingSource(JoinedSource([slow]))
        await seen(source, 2)
        source.drop()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return slow.dropped, slow.cancelled

    assert run(main) == (True, True)


def test_complete_parts_are_read_without_a_task() -> None:
    assert isinstance(joined([b"one"]), JoinedSource)
    assert isinstance(joined([b"one", Slow(b"two")]), PausingSource)
