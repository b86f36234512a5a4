"""The connection of one process to one HTTP/2 back end, which requests share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.engine.coroutines import Completion
from whimbrel.engine.request import RequestEngine
from whimbrel.modules.proxy.mod_proxy_http2.connection import MultiplexedConnection, StreamError

MAX_SESSIONS: Final = 256  # back ends of one process whose connections are shared
_KEY: Final = "proxy http2 sessions"


class BackendSession:
    """The connection on which the next request begins a stream; one request at a time connects."""

    __slots__ = ("_is_connecting", "_waiting", "current")

    def __init__(self) -> None:
        self.current: MultiplexedConnection | None = None
        self._is_connecting = False
        self._waiting: list[Completion[None]] = []

    async def acquire(
        self, connect: Callable[[], Awaitable[MultiplexedConnection | None]], timeout: float
    ) -> MultiplexedConnection | None:
        """Return a connection with room for a stream, made by *connect* if there is none; None if none could
        be opened. Raises what *connect* raises, and StreamError after *timeout* seconds without room.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout
        while True:
            current = self.current
            if current is not None and not current.is_draining and not current.is_closed:
                if current.has_room:
                    return current
                await self._room(current, end - loop.time())
            elif self._is_connecting:
                waiter = Completion[None]()
                self._waiting.append(waiter)
                await waiter
            else:
                opened = await self._connect(connect)
                if opened is None or opened.has_room:
                    return opened

    async def _room(self, connection: MultiplexedConnection, timeout: float) -> None:
        """Wait for room; a connection that has none for so long gets no further stream."""
        try:
            await connection.room(timeout)
        except StreamError:
            connection.retire()
            raise

    def retire(self) -> None:
        """Begin no further stream on the connection; it closes once its streams have ended."""
        if self.current is not None:
            self.current.retire()

    async def _connect(
        self, connect: Callable[[], Awaitable[MultiplexedConnection | None]]
    ) -> MultiplexedConnection | None:
        self._is_connecting = True
        try:
            self.current = await connect()
            return self.current
        finally:
            self._is_connecting = False
            waiting, self._waiting = self._waiting, []
            for waiter in waiting:
                waiter.set(None)


def session_of(engine: RequestEngine, key: tuple[object, ...]) -> BackendSession:
    """Return the session of the back end that *key* names."""
    known: BoundedDict[tuple[object, ...], BackendSession] | None = engine.worker_state.get(_KEY)
    if known is None:
        known = BoundedDict(MAX_SESSIONS)
        engine.worker_state[_KEY] = known
    session = known.get(key)
    if session is None:
        if len(known) >= MAX_SESSIONS:
            for old in known.values():
                old.retire()
        session = BackendSession()
        known[key] = session
    return session
