"""Sources whose pauses are flushes: what has arrived reaches the client while the rest is computed."""

from __future__ import annotations

from abc import abstractmethod

from whimbrel.base.static_typing import Final
from whimbrel.engine.body import Source

# Seconds without bytes that are a pause. httpd flushes as soon as a socket has no byte; a back end that sends
# its response in two writes would then decide by chance about the length and the coding of the response.
FLUSH_WAIT: Final = 0.005


class LiveSource(Source):
    """Bytes that arrive from elsewhere while the body is sent.

    Attributes:
        flush_wait: seconds without bytes after which httpd passes a FLUSH bucket on; None if it never does.
    """

    __slots__ = ("_has_flushed", "flush_wait")

    def __init__(self, flush_wait: float | None = None) -> None:
        self.flush_wait = flush_wait
        self._has_flushed = False  # since the last bytes

    @abstractmethod
    def read_now(self) -> bytes | None:
        """See Source."""

    @abstractmethod
    async def wait(self) -> None:
        """Wait until `read_now` may have another result, or until `wake` is called."""

    @abstractmethod
    def wake(self) -> None:
        """End the present `wait`."""

    async def read(self) -> bytes | None:
        """See Source."""
        while (data := self.read_now()) == b"":
            await self.wait()
        return data

    async def read_or_flush(self) -> bytes | None:
        """See Source: one flush for each pause."""
        data = self.read_now()
        if data == b"" and self.flush_wait is not None and not self._has_flushed:
            from asyncio import get_running_loop  # slow import that -t must not pay

            timer = get_running_loop().call_later(self.flush_wait, self.wake)
            try:
                await self.wait()
            finally:
                timer.cancel()
            data = self.read_now()
            if data == b"":
                self._has_flushed = True
                return data
        if data == b"":
            data = await self.read()
        self._has_flushed = False
        return data
