"""A world for an engine in one process: logs in memory, no look-ups beside what a test provides."""

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
    """A Runtime for tests: *logs* holds what was written, by target of a file; *names* and *hosts* answer look-ups."""

    def __init__(self) -> None:
        self.pid = self.tid = os.getpid()
        self.scoreboard: Scoreboard = NoScoreboard()
        self.logs: dict[str, list[bytes]] = {}
        self.names: dict[str, str] = {}
        self.hosts: dict[str, list[str]] = {}

    def now(self) -> float:
        """The real clock."""
        return time.time()

    def write_log(self, sink: LogSink, data: bytes) -> None:
        """Keep the lines in memory; those for a program or for syslog under the target with ``|`` or ``syslog:`` before it."""
        kind = "|" if sink.piped else "syslog:" if sink.syslog else ""
        self.logs.setdefault(kind + sink.target, []).append(data)

    def log_appender(self, sink: LogSink) -> Callable[[bytes], None]:
        """See Runtime.log_adder."""
        return lambda data: self.write_log(sink, data)

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Run at once: tests need no thread."""
        return work()

    async def reverse_lookup(self, address: str) -> str | None:
        """What *names* says; 127.0.0.1 is localhost."""
        return self.names.get(address) or ("localhost" if address == "127.0.0.1" else None)

    async def resolve(self, name: str) -> list[str]:
        """What *hosts* says."""
        return self.hosts.get(name, ["127.0.0.1"] if name == "localhost" else [])


def run_sync(result: Any) -> Any:
    """The value of an answer or of an awaitable of one, outside any loop."""
    return asyncio.run(_await(result)) if hasattr(result, "__await__") else result


async def _await(awaitable: Any) -> Any:
    return await awaitable
