"""A runtime for engines that answer probes: it connects to nothing, starts nothing and writes no log."""

from __future__ import annotations

import asyncio
import errno
import os
import time
from collections.abc import Awaitable, Callable
from mmap import mmap
from typing import Any, TypeVar

from whimbrel.config.configuration import Configuration
from whimbrel.config.model import LogSink
from whimbrel.engine.runtime import Address, NoScoreboard, P, PeriodicWork, Scoreboard
from whimbrel.engine.tls import BackendTlsParameters

T = TypeVar("T")


class _NoWork:
    """Periodic work that never runs."""

    def cancel(self) -> None: ...


class ProbeRuntime:
    """A Runtime without an outside world.

    Attributes:
        names: host names by client address, confirmed in both directions.
        time: the time of all probes, seconds since the epoch.
        backends: the addresses that the last probe wanted to connect to.
    """

    def __init__(self, now: float | None = None) -> None:
        self.pid = os.getpid()
        self.tid = self.pid
        self.scoreboard: Scoreboard = NoScoreboard()
        self.filter_slots = asyncio.Semaphore(1)
        self.time = time.time() if now is None else now
        self.names: dict[str, str] = {}
        self.backends: list[Address] = []
        self.slot = 0
        self.slots = 1
        self._segments: dict[str, mmap] = {}
        self.rewriting: list[Any] = []

    def now(self) -> float:
        """Return `time`."""
        return self.time

    def write_log(self, sink: LogSink, data: bytes) -> None:
        """Discard the line."""

    def log_appender(self, sink: LogSink) -> Callable[[bytes], None]:
        """See Runtime.log_appender."""
        return lambda data: None

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Call *work* in this thread."""
        return work()

    async def in_script_thread(
        self, work: Callable[[], T], abandon: Callable[[], object], *, is_input: bool = False
    ) -> T:
        """Call *work* in this thread."""
        return work()

    async def compute(self, work: Callable[[], T]) -> T:
        """Call *work* in this thread."""
        return work()

    async def search(self, work: Callable[[], T]) -> T:
        """Call *work* in this thread."""
        return work()

    async def reverse_lookup(self, address: str) -> str | None:
        """Return the name in `names`."""
        return self.names.get(address)

    async def resolve(self, name: str) -> list[str]:
        """Return the addresses that have *name*."""
        return [address for address, known in self.names.items() if known.lower() == name.lower()]

    async def connect(
        self,
        make: Callable[[], P],
        address: Address,
        *,
        timeout: float,
        source: str = "",
        tls: BackendTlsParameters | None = None,
    ) -> P:
        """Note *address* and refuse the connection."""
        self.backends.append(address)
        raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))

    def every(
        self, name: str, seconds: float, work: Callable[[], Awaitable[None]], *, once: bool = True
    ) -> PeriodicWork:
        """Run nothing."""
        return _NoWork()

    def segment(self, name: str) -> mmap:
        """Return a segment that `open_segments` made."""
        return self._segments[name]

    def program(self, name: str) -> Any:
        """There are no programs."""
        return None

    def open_segments(self, configuration: Configuration) -> None:
        """Make the segments of the modules of *configuration*."""
        for module in configuration.modules.modules:
            for segments in module.shared:
                for segment in segments(configuration):
                    memory = mmap(-1, segment.size)
                    self._segments[segment.name] = memory
                    if segment.fill is not None:
                        segment.fill(memory)
