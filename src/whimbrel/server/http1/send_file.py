"""Sends files with sendfile(2) through a duplicate of the connection's descriptor.

uvloop's transports cannot send files. Bytes may be sent beside a transport while its write buffer is empty;
the sender starts only then.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from typing import Final

from whimbrel.engine.body import FileSegment, SizedPart, Truncated, size_of

# bytes of one call and of one tick: the share of one client before others are served
MAX_TICK_BYTES: Final = 4 << 20
# bytes from which on a file is cheaper if the head before it is a separate packet
LARGE_THRESHOLD: Final = 1 << 20


class FileSender:
    """Sends *parts* and then calls *done* with the number of bytes sent and the error, if any.

    *already* bytes of them, not all, were sent before. *stalled* is called when the client's window is full,
    and again after each progress. The files are closed at the end.
    """

    __slots__ = ("_done", "_loop", "_out", "_parts", "_position", "_sent", "_short", "_stalled", "_waiting")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        out: socket.socket,
        parts: list[SizedPart],
        done: Callable[[int, OSError | None], None],
        stalled: Callable[[], None],
        already: int = 0,
    ) -> None:
        self._loop = loop
        self._out = out
        self._done = done
        self._stalled = stalled
        self._parts = list(reversed(parts))
        self._position = already
        self._sent = already
        while self._position >= (size := size_of(self._parts[-1])) and self._position:
            self._next(self._position - size)
        self._waiting = False
        self._short = False

    def start(self) -> None:
        """Send at once; if less than the share of a tick was sent before, the client's window is full."""
        if 0 < self._sent < MAX_TICK_BYTES:
            self._wait()
        else:
            self._send_share()

    def _send_share(self) -> None:
        """Send until the client's window is full, or the share of this tick is used."""
        left = MAX_TICK_BYTES
        self._short = False
        try:
            while self._parts and left > 0 and not self._short:
                left -= self._send(self._parts[-1])
        except BlockingIOError:
            self._wait()
        except OSError as problem:
            self._finish(problem)
        else:
            if self._parts:
                self._wait()
            else:
                self._finish(None)

    def stop(self) -> None:
        """Stop because the connection is closed."""
        self._finish(ConnectionResetError())

    def _send(self, part: SizedPart) -> int:
        if isinstance(part, FileSegment):
            left = part.length - self._position
            step = min(left, MAX_TICK_BYTES)
            count = (
                os.sendfile(self._out.fileno(), part.handle, part.offset + self._position, step)
                if left
                else 0
            )
            self._short = count < step  # the window is full: a further call would return EAGAIN
            if not count and left:
                raise Truncated
        else:
            left = len(part) - self._position
            more = socket.MSG_MORE if len(self._parts) > 1 and not _large(self._parts[-2]) else 0
            count = self._out.send(memoryview(part)[self._position :], more) if left else 0
        self._position += count
        self._sent += count
        if count == left:
            self._next()
        return count

    def _next(self, position: int = 0) -> None:
        part = self._parts.pop()
        self._position = position
        if isinstance(part, FileSegment):
            os.close(part.handle)

    def _wait(self) -> None:
        self._stalled()
        if not self._waiting:
            self._waiting = True
            self._loop.add_writer(self._out.fileno(), self._send_share)

    def _finish(self, problem: OSError | None) -> None:
        if self._waiting:
            self._waiting = False
            self._loop.remove_writer(self._out.fileno())
        while self._parts:
            self._next()
        done, self._done = self._done, _nothing
        done(self._sent, problem)


def try_send_file(out: socket.socket, head: bytes, handle: int, size: int) -> int:
    """Send *head* and *size* bytes of a file as far as the client's window allows; return the number of
    bytes.

    An error is not raised here: the FileSender that continues meets it again.
    """
    count = 0
    try:
        count = out.send(head, socket.MSG_MORE if size < LARGE_THRESHOLD else 0)
        if count == len(head):
            count += os.sendfile(out.fileno(), handle, 0, min(size, MAX_TICK_BYTES))
    except OSError:
        pass
    return count


def _large(part: SizedPart) -> bool:
    """Return True if *part* should begin a packet: page-aligned large files need fewer pieces."""
    return isinstance(part, FileSegment) and part.length >= LARGE_THRESHOLD


def _nothing(_sent: int, _problem: OSError | None) -> None:
    """Callback for an end that was already handled."""
