"""Connections of one worker to the threads of a process group: kept ones, and requests that wait for one.

A process takes a request from a connection at once where a thread is free. With more connections than
threads each would serve one request, and a thread that ends one would have to accept another. So requests
wait here.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final, Protocol

from whimbrel.backends.connection import BackendConnection
from whimbrel.backends.pool import ConnectionPool, PoolLimits

MAX_QUEUE: Final = 100  # requests that wait; further ones wait in the backlog of the socket
MAX_WAIT: Final = 0.5  # seconds until a request goes to the socket, which another process may serve


class QueuedRequest(Protocol):
    """A request that waits for a connection."""

    def is_waiting(self) -> bool:
        """Return False if the request wants no connection any more."""

    def start(self, connection: BackendConnection | None) -> None:
        """Use *connection*, which is idle or new; None: no thread has become free in time."""


class ProcessConnections(ConnectionPool):
    """The connections to the socket at `path`; at most *capacity*, the number of threads, are kept."""

    __slots__ = ("_queue", "_timer", "capacity", "path")

    def __init__(self, path: str, capacity: int) -> None:
        super().__init__(PoolLimits())
        self.path = path
        self.capacity = capacity
        self._queue: deque[tuple[float, QueuedRequest]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def take(self) -> BackendConnection | None:
        """Return an idle connection, or a new one if there are less than threads; None otherwise."""
        connection = self.take_idle() if self.idle else None
        if connection is None and self.count < self.capacity and not self._queue:
            connection = self.open_now(self.path)
        return connection

    def is_full(self) -> bool:
        """Return True if all threads may be busy."""
        return self.count >= self.capacity or bool(self._queue)

    def enqueue(self, request: QueuedRequest) -> bool:
        """Let *request* start when a connection is free; return False if too many wait."""
        if len(self._queue) >= MAX_QUEUE:
            return False
        loop = asyncio.get_running_loop()
        self._queue.append((loop.time() + MAX_WAIT, request))
        if self._timer is None:
            self._timer = loop.call_later(MAX_WAIT, self._expire)
        return True

    def release(self, connection: BackendConnection) -> None:
        """See ConnectionOwner: the request that has waited longest is next."""
        queue = self._queue
        while queue:
            request = queue.popleft()[1]
            if request.is_waiting():
                request.start(connection)
                return
        self.idle.append(connection)

    def lost(self, connection: BackendConnection) -> None:
        """See ConnectionOwner: another one may take its place."""
        super().lost(connection)
        while self._queue and self.count < self.capacity:
            replacement = self.open_now(self.path)
            if replacement is None:
                return
            self.release(replacement)

    def _expire(self) -> None:
        """Let the requests go that have waited for too long."""
        self._timer = None
        queue = self._queue
        loop = asyncio.get_running_loop()
        now = loop.time()
        while queue and queue[0][0] <= now:
            request = queue.popleft()[1]
            if request.is_waiting():
                request.start(None)
        if queue and self._timer is None:
            self._timer = loop.call_at(queue[0][0], self._expire)
