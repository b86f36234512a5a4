"""A runtime for an engine in one process: logs in memory, look-ups from tables."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from typing import Any, TypeVar

from whimbrel.config.model import LogSink
from whimbrel.engine.runtime import NoScoreboard, Scoreboard

T = TypeVar("T")


class FakeRuntime:
    """A Runtime for tests.

    Attributes:
        logs: the lines written, by target of a file
        names: addresses to names, for reverse look-ups
        hosts: names to addresses
    """

    def __init__(self) -> None:
        self.pid = self.tid = os.getpid()
        self.scoreboard: Scoreboard = NoScoreboard()
        self.filter_slots = asyncio.Semaphore(1)
        self.logs: dict[str, list[bytes]] = {}
        self.names: dict[str, str] = {}
        self.hosts: dict[str, list[str]] = {}

    def now(self) -> float:
        """Return the time of the real clock."""
        return time.time()

    def write_log(self, sink: LogSink, data: bytes) -> None:
        """Store the line by target; the target of a program begins with ``|``, of syslog with ``syslog:``."""
        kind = "|" if sink.piped else "syslog:" if sink.syslog else ""
        self.logs.setdefault(kind + sink.target, []).append(data)

    def log_appender(self, sink: LogSink) -> Callable[[bytes], None]:
        """See Runtime.log_appender."""
        return lambda data: self.write_log(sink, data)

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Call *work* in this thread: tests need no other."""
        return work()

    async def compute(self, work: Callable[[], T]) -> T:
        """Call *work* in this thread."""
        return work()

    async def reverse_lookup(self, address: str) -> str | None:
        """Return the name in *names*; 127.0.0.1 is localhost."""
        return self.names.get(address) or ("localhost" if address == "127.0.0.1" else None)

    async def resolve(self, name: str) -> list[str]:
        """Return the addresses in *hosts*."""
        return self.hosts.get(name, ["127.0.0.1"] if name == "localhost" else [])


def run_sync(result: Any) -> Any:
    """Return a value, or the result of an awaitable run in a new event loop."""
    return asyncio.run(_await(result)) if hasattr(result, "__await__") else result


async def _await(awaitable: Any) -> Any:
    return await awaitable
