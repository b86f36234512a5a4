"""The runtime that an engine needs: implemented by server/, and by testing/ in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from whimbrel.config.model import LogSink

T = TypeVar("T")


class ScoreboardRow(dict[str, Any]):
    """A row that is the same object as long as its contents are; *shown* is the text that mod_status built of
    it.
    """

    __slots__ = ("shown",)

    def __init__(self, *pairs: Any, **fields: Any) -> None:
        super().__init__(*pairs, **fields)
        self.shown: Any = None


class Scoreboard(Protocol):
    """The states of the workers, for mod_status; rows are dictionaries."""

    def rows(self) -> list[dict[str, Any]]: ...

    def totals(self) -> dict[str, Any]: ...


class NoScoreboard:
    """An empty scoreboard: for tests and tools, and for a worker before it has its own."""

    def rows(self) -> list[dict[str, Any]]:
        """No worker."""
        return []

    def totals(self) -> dict[str, Any]:
        """No sums."""
        return {}


class Runtime(Protocol):
    """The outside world of one engine."""

    pid: int
    tid: int
    scoreboard: Scoreboard
    filter_slots: asyncio.Semaphore  # taken while a filter has a large body in memory, so that few have one

    def now(self) -> float:
        """Return the time in seconds since the epoch."""

    def write_log(self, sink: LogSink, data: bytes) -> None:
        """Append *data* (whole lines) to a log; never raises."""

    def log_appender(self, sink: LogSink) -> Callable[[bytes], None]:
        """Return a function that appends whole lines to an open log, for use in ticks in which a line was
        already written there.
        """

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Run blocking *work* beside the event loop."""

    async def compute(self, work: Callable[[], T]) -> T:
        """Run *work* that keeps a core busy and releases the GIL beside the event loop."""

    async def reverse_lookup(self, address: str) -> str | None:
        """Return the host name of an IP address (reverse lookup), or None."""

    async def resolve(self, name: str) -> list[str]:
        """The IP addresses of a host name."""
