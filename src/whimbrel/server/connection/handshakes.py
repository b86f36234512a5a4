"""Handshakes in progress of one worker: their memory has a bound, and their work a share of each tick."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Final, Protocol

MAX_BYTES: Final = 48 * 1024 * 1024  # of all handshakes in progress
OBJECT_BYTES: Final = 80 * 1024  # of the library's object for one connection before its handshake is complete
MAX_THREADS: Final = 16  # handshakes that wait for OCSP responders at the same time; others wait for them
COPIES: Final = 2  # of received bytes: those of the reader, and those for the library


class Droppable(Protocol):
    """A connection whose handshake is in progress."""

    def drop(self) -> None:
        """End the connection: newer handshakes need its memory."""


class Handshakes:
    """The handshakes that have begun, the oldest first.

    Where they need more than `MAX_BYTES`, the oldest ones are dropped: those of honest clients are complete
    after one round trip.
    """

    __slots__ = ("_sizes", "_threads", "bytes")

    def __init__(self) -> None:
        self._sizes: dict[Droppable, int] = {}
        self._threads: ThreadPoolExecutor | None = None
        self.bytes = 0

    @property
    def threads(self) -> ThreadPoolExecutor:
        """The threads for steps that wait for others, apart from those that read files."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(MAX_THREADS, "handshake")
        return self._threads

    def __len__(self) -> int:
        return len(self._sizes)

    def grow(self, handshake: Droppable, count: int) -> None:
        """Add *count* bytes to what *handshake* needs."""
        sizes = self._sizes
        sizes[handshake] = sizes.get(handshake, 0) + count
        self.bytes += count
        while self.bytes > MAX_BYTES and len(sizes) > 1:
            oldest = next(iter(sizes))
            self.remove(oldest)
            oldest.drop()

    def remove(self, handshake: Droppable) -> None:
        """Forget a handshake that has ended."""
        self.bytes -= self._sizes.pop(handshake, 0)
