"""A runtime without threads, for engines in one process: tools and tests."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from mmap import mmap
from typing import TypeVar

from whimbrel.base.portability import load_average
from whimbrel.config.configuration import Configuration
from whimbrel.config.model import LogSink
from whimbrel.engine.runtime import NoScoreboard, PasswordCheck, Scoreboard

T = TypeVar("T")


class InlineRuntime:
    """The part of a Runtime that needs no outside world: work is done where it is asked for.

    Attributes:
        segments: shared memory by name; see `open_segments`
    """

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.tid = self.pid
        self.scoreboard: Scoreboard = NoScoreboard()
        self.filter_slots = asyncio.Semaphore(1)
        self.slot = 0
        self.slots = 1
        self.segments: dict[str, mmap] = {}

    def load_average(self) -> tuple[float, float, float]:
        return load_average()

    def write_log(self, sink: LogSink, data: bytes) -> None:
        """Discard the line."""

    def log_appender(self, sink: LogSink) -> Callable[[bytes], None]:
        return lambda data: self.write_log(sink, data)

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Call *work* in this thread."""
        return work()

    async def in_script_thread(
        self, work: Callable[[], T], abandon: Callable[[], object], *, is_input: bool = False
    ) -> T:
        """Call *work* in this thread."""
        return work()

    async def check_password(self, check: PasswordCheck, password: str, stored: str) -> bool:
        """Check in this thread."""
        return check(password, stored)

    async def compute(self, work: Callable[[], T]) -> T:
        """Call *work* in this thread."""
        return work()

    async def search(self, work: Callable[[], T]) -> T:
        """Call *work* in this thread."""
        return work()

    def segment(self, name: str) -> mmap:
        """Return a segment that `open_segments` made."""
        return self.segments[name]

    def open_segments(self, configuration: Configuration) -> None:
        """Make the segments of the modules of *configuration*."""
        for module in configuration.modules.modules:
            for segments in module.shared:
                for segment in segments(configuration):
                    memory = mmap(-1, segment.size)
                    self.segments[segment.name] = memory
                    if segment.fill is not None:
                        segment.fill(memory)
