"""A runtime for an engine in one process: logs in memory, look-ups from tables."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from whimbrel.config.model import LogSink
from whimbrel.engine.coroutines import yield_to_loop
from whimbrel.engine.inline_runtime import InlineRuntime
from whimbrel.engine.runtime import Address, P, PeriodicWork
from whimbrel.engine.tls import BackendTlsParameters


class FakeRuntime(InlineRuntime):
    """A Runtime for tests.

    Attributes:
        logs: the lines written, by target of a file
        names: addresses to names, for reverse look-ups
        hosts: names to addresses
    """

    def __init__(self) -> None:
        super().__init__()
        self.logs: dict[str, list[bytes]] = {}
        self.names: dict[str, str] = {}
        self.hosts: dict[str, list[str]] = {}
        self.programs: dict[str, Any] = {}

    def now(self) -> float:
        """Return the time of the real clock."""
        return time.time()

    def write_log(self, sink: LogSink, data: bytes) -> None:
        """Store the line by target; the target of a program begins with ``|``, of syslog with ``syslog:``."""
        if sink.piped:
            kind = "|"
        elif sink.syslog:
            kind = "syslog:"
        else:
            kind = ""
        self.logs.setdefault(kind + sink.target, []).append(data)

    async def reverse_lookup(self, address: str) -> str | None:
        """Return the name in *names*; 127.0.0.1 is localhost."""
        return self.names.get(address) or ("localhost" if address == "127.0.0.1" else None)

    async def resolve(self, name: str) -> list[str]:
        """Return the addresses in *hosts*."""
        return self.hosts.get(name, ["127.0.0.1"] if name == "localhost" else [])

    async def connect(
        self,
        make: Callable[[], P],
        address: Address,
        *,
        timeout: float,
        source: str = "",
        tls: BackendTlsParameters | None = None,
    ) -> P:
        """Connect a protocol to a real address."""
        await yield_to_loop()
        loop = asyncio.get_running_loop()
        security: dict[str, Any] = {}
        if tls is not None:
            security = {"ssl": tls.context, "server_hostname": tls.server_name}
        async with asyncio.timeout(timeout):
            if isinstance(address, str):
                return (await loop.create_unix_connection(make, address, **security))[1]
            return (await loop.create_connection(make, *address, **security))[1]

    def every(
        self, name: str, seconds: float, work: Callable[[], Awaitable[None]], *, once: bool = True
    ) -> PeriodicWork:
        """Run *work* in a task."""

        async def repeat() -> None:
            while True:
                await work()
                await asyncio.sleep(seconds)

        return asyncio.get_running_loop().create_task(repeat())

    def program(self, name: str) -> Any:
        """Return the program that a test has put into `programs`."""
        return self.programs.get(name)


def run_sync(result: object) -> Any:
    """Return a value, or the result of an awaitable run in a new event loop."""
    return asyncio.run(_await(result)) if hasattr(result, "__await__") else result


async def _await(awaitable: Any) -> Any:
    return await awaitable
