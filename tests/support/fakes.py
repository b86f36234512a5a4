"""Stand-ins for what a connection touches: engine, response, transport, event loop."""

from __future__ import annotations

import asyncio
import types
from asyncio import iscoroutine
from collections.abc import Callable, Coroutine
from typing import Any

from whimbrel.base.dialect import V24
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.config.model import Server
from whimbrel.engine.body import Part
from whimbrel.engine.cache.index import ResponseCache
from whimbrel.engine.coroutines import run_until_suspended, yield_to_loop
from whimbrel.engine.deps.files import TickStatCache
from whimbrel.engine.input.body import RequestBody
from whimbrel.engine.relay.cache import RelayCache
from whimbrel.engine.response import Framing, Response
from whimbrel.http.syntax.head import Head
from whimbrel.registry.methods import Methods

LONGEST = 10.0  # seconds that tasks take
CLIENT, SERVER = ("192.0.2.7", 4711), ("192.0.2.1", 80)


class FakeTransport(asyncio.Transport):
    """A transport that accepts every write.

    Attributes:
        out: the bytes written so far
        protocol: the protocol set last
        has_eof: write_eof was called
        is_closed: close or abort was called
        is_paused: reading is paused
    """

    def __init__(self, client: tuple[str, int] = CLIENT, server: tuple[str, int] = SERVER) -> None:
        super().__init__({"peername": client, "sockname": server})
        self.out = b""
        self.protocol: Any = None
        self.has_eof = self.is_closed = self.is_paused = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def write(self, data: Any) -> None:
        self.out += bytes(data)

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.has_eof = True

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = True

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def get_write_buffer_size(self) -> int:
        return 0


class LastWriteTransport(FakeTransport):
    """A transport whose *out* holds the last write alone."""

    def write(self, data: Any) -> None:
        self.out = bytes(data)


class FakeLoop:
    """An event loop whose ticks are run by hand; timers never fire. *ready* holds the calls of the next
    tick.
    """

    def __init__(self) -> None:
        self.ready: list[Any] = []

    def call_soon(self, work: Any, *arguments: Any) -> None:
        self.ready.append((work, arguments))

    def call_later(self, seconds: float, work: Any) -> None:
        return None

    def run(self, work: Callable[..., object], *arguments: Any) -> None:
        """Call *work* as the loop would."""
        work(*arguments)

    def tick(self) -> None:
        """Run the calls that are ready."""
        ready, self.ready = self.ready, []
        for work, arguments in ready:
            work(*arguments)


class EagerTaskLoop(FakeLoop):
    """A loop that runs each task to its end when it is created: no task awaits anything pending."""

    def create_task(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            while True:
                work.send(None)
        except StopIteration:
            return


class TaskLoop(FakeLoop):
    """A loop whose ticks are run by hand, and whose tasks are those of a *real* loop."""

    def __init__(self, real: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self.real = real

    def create_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self.real.create_task(work)

    def run(self, work: Callable[..., object], *arguments: Any) -> None:
        """Call *work* while the real loop runs, and let the tasks run."""

        async def call() -> None:
            work(*arguments)
            await self.settle()

        self.real.run_until_complete(call())

    async def settle(self) -> None:
        """Wait until all tasks have ended; fail after `LONGEST`."""
        own = {asyncio.current_task()}
        while tasks := asyncio.all_tasks() - own:
            done, _waiting = await asyncio.wait(tasks, timeout=LONGEST)
            assert done, f"tasks without end: {tasks}"
            for task in done:
                if not task.cancelled():
                    task.result()


class FakeResponse(Response):
    """A response with a body of bytes; *counted* holds the sizes passed to `on_sent`."""

    def __init__(self, *body: Part, close: bool = False, framing: Framing = Framing.LENGTH) -> None:
        request: Any = types.SimpleNamespace(status=200, time=0.0, takeover=None)
        super().__init__(request, b"[", b"]", list(body), close=close, framing=framing)
        self.counted: list[int] = []

    def head(self, date: bytes) -> bytes:
        return b"[head]"

    def on_sent(self, count: int, more: int = 0) -> None:
        self.counted.append(count)


class FakeEngine:
    """An engine that calls *handler* for each request; no module is loaded and nothing is cached."""

    def __init__(self, handler: Callable[[Head, RequestBody], Any]) -> None:
        self.handler = handler
        self.main = Server()
        self.main.record(CoreServerConfig).keep_alive_timeout = 1.0
        self.response_cache, self.stat_cache = ResponseCache(), TickStatCache()
        self.relays = RelayCache(self.response_cache.shapes, self.response_cache.specs)
        self.configuration = types.SimpleNamespace(
            servers=lambda: [self.main], hosts=None, dialect=V24, methods=Methods(), provider=self.provider
        )

    def provider(self, group: str, name: str) -> Any:
        """Return None: there are no providers."""
        return None

    def log_time(self, now: float) -> bytes:
        """Return the time of no log."""
        return b""

    def try_cache(self, connection: Any, head: bytes) -> None:
        return None

    def respond(self, connection: Any, head: Head, body: RequestBody) -> Any:
        result = self.handler(head, body)
        return run_until_suspended(_in_task(result)) if iscoroutine(result) else result


async def _in_task(work: Coroutine[Any, Any, Any]) -> Any:
    """Run *work* in the loop, which does not run while a test calls a protocol."""
    await yield_to_loop()
    return await work
