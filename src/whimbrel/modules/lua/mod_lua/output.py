"""Output of a script: bytes until it ends, or a source from its first flush on."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

from whimbrel.engine.body import FlushingSource

MAX_AHEAD: Final = 64 * 1024  # bytes that a script may be ahead of the client once the response has begun
MAX_GATHERED: Final = 64 * 1024 * 1024  # bytes of a hook, after which its output is refused
MAX_WAIT: Final = 300.0  # seconds in which a client must take what a script flushes
BUFFER: Final = 8000  # bytes that httpd gathers before it passes output on without its length


class ScriptOutput:
    """What a script writes.

    Attributes:
        size: bytes so far.
        began: set, in the event loop, when the response must begin before the script ends.
        has_ended: the script has ended. `is_closed`: nobody reads any more.
        is_passed_on: httpd would have passed output on before the end, so the length is unknown.
        is_handed_over: the connection belongs to the script (wsupgrade); there is no body.

    Without *can_begin* everything is gathered: a hook's output is sent after its phase.
    """

    def __init__(self, *, can_begin: bool = True) -> None:
        self.size = 0
        self.can_begin = can_begin
        self.began = asyncio.Event()
        self.has_ended = False
        self.is_closed = False
        self.is_passed_on = False
        self.is_handed_over = False
        self._is_flushed = False  # the client is to get what was written
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._pieces: deque[bytes] = deque()
        self._held = 0
        self._changed = threading.Condition()
        self._arrived = asyncio.Event()

    # called by the script's thread ----------------------------------------------------------------
    def write(self, data: bytes) -> bool:
        """Add output; wait while the client is far behind a response that has begun. False if it is gone."""
        if self.is_closed or (self.size > MAX_GATHERED and not self.can_begin):
            return False
        with self._changed:
            self._pieces.append(data)
            self._held += len(data)
            self.size += len(data)
            if self.began.is_set() and threading.get_ident() != self._thread:
                self._loop.call_soon_threadsafe(self._arrived.set)
                self._changed.wait_for(lambda: self._held <= MAX_AHEAD or self.is_closed, timeout=MAX_WAIT)
        if self._held > MAX_AHEAD and self.can_begin:
            self._pass_on()
        return True

    def flush(self) -> bool:
        """Let the client have what was written."""
        self._is_flushed = True
        return self._pass_on()

    def _pass_on(self) -> bool:
        """Let the response begin with what was written."""
        self.is_passed_on = True
        if threading.get_ident() == self._thread or not self.can_begin:
            return True  # nothing can be sent while the event loop or the phase waits
        self._loop.call_soon_threadsafe(self._begin)
        with self._changed:
            self._changed.wait_for(lambda: not self._pieces or self.is_closed, timeout=MAX_WAIT)
        return not self.is_closed

    # called in the event loop ----------------------------------------------------------------------
    def _begin(self) -> None:
        self.began.set()
        self._arrived.set()

    def hand_over(self) -> None:
        """Let the response begin without a body."""
        self.is_handed_over = True
        self._begin()

    def end(self) -> None:
        """Note the end of the script."""
        self.has_ended = True
        self._arrived.set()

    def take(self) -> bytes:
        """Remove and return what was written."""
        with self._changed:
            data = b"".join(self._pieces)
            self._pieces.clear()
            self._held = 0
            self._changed.notify_all()
        return data

    def take_flush(self) -> bool:
        """Return True if the script has flushed since the last call."""
        is_flushed, self._is_flushed = self._is_flushed, False
        return is_flushed

    def close(self) -> None:
        """Read no more: the script goes on without effect."""
        with self._changed:
            self.is_closed = True
            self._pieces.clear()
            self._held = 0
            self._changed.notify_all()

    async def wait(self) -> None:
        """Wait for output or the end."""
        await self._arrived.wait()
        if not self.has_ended:
            self._arrived.clear()


class ScriptSource(FlushingSource):
    """The rest of a response whose script still runs; a `flush` of the script is one of the body."""

    __slots__ = ("_abandon", "_output")

    def __init__(self, output: ScriptOutput, abandon: Callable[[], object]) -> None:
        self._output = output
        self._abandon = abandon

    async def read_or_flush(self) -> bytes | None:
        output = self._output
        while (data := self.read_now()) == b"" and not output.take_flush():
            await output.wait()
        return data

    def read_now(self) -> bytes | None:
        """Return what was written."""
        has_ended = self._output.has_ended
        data = self._output.take()
        return data or (None if has_ended else b"")

    def drop(self) -> None:
        """Let the script end without its output."""
        self._output.close()
        if not self._output.has_ended:
            self._abandon()

    async def aclose(self) -> None:
        self.drop()
