"""Connections to the processes of applications, which are started if need be."""

from __future__ import annotations

import asyncio
from typing import Final

from whimbrel.backends.connection import BackendConnection
from whimbrel.engine.coroutines import Completion
from whimbrel.engine.request import Request, RequestEngine, worker_object
from whimbrel.modules.support.processes.manager import ProcessManager
from whimbrel.modules.wsgi.mod_wsgi.connections import ProcessConnections
from whimbrel.modules.wsgi.mod_wsgi.options import DaemonProcess
from whimbrel.modules.wsgi.mod_wsgi.processes import WsgiPlace, WsgiPool

MODULE: Final = "wsgi"
POLL: Final = 0.01  # seconds between two attempts to connect
START_INTERVAL: Final = 1.0  # seconds between two requests to start processes
MAX_POOLS: Final = 1000  # sockets to which connections are kept
_POOLS: Final = "wsgi.connections"


class ConnectionPools:
    """This worker's connections to the processes of applications.

    Key: a socket. Value: a pool; a process that has other work than an idle connection closes it. Bound:
    MAX_POOLS; then all idle connections are closed.
    """

    def __init__(self) -> None:
        self._pools: dict[str, ProcessConnections] = {}

    def pool(self, path: str, capacity: int) -> ProcessConnections:
        """Return the pool of connections to the socket at *path*."""
        pool = self._pools.get(path)
        if pool is None:
            if len(self._pools) >= MAX_POOLS:
                self._clear()
            pool = ProcessConnections(path, capacity)
            self._pools[path] = pool
        return pool

    def _clear(self) -> None:
        for pool in self._pools.values():
            for connection in list(pool.idle):
                connection.close()
        self._pools.clear()


def pool_to(engine: RequestEngine, path: str, capacity: int) -> ProcessConnections:
    """Return this worker's pool of connections to the socket at *path*, which *capacity* threads serve."""
    return worker_object(engine, _POOLS, ConnectionPools).pool(path, capacity)


def place_of(manager: ProcessManager, process_group: str, application_group: str) -> WsgiPlace:
    """Return where the processes of an application group are."""
    pool: WsgiPool = manager.context
    return pool.place_of(process_group, application_group, manager.directory)


class _PendingConnection(Completion["BackendConnection | None"]):
    """The wait of a request for a connection; a `QueuedRequest`."""

    def is_waiting(self) -> bool:
        return not self.done()

    def start(self, connection: BackendConnection | None) -> None:
        self.set(connection)


async def _free_connection(connections: ProcessConnections) -> BackendConnection | None:
    """Return a connection that is free or becomes free soon, None without one."""
    connection = connections.take()
    if connection is not None or not connections.is_full():
        return connection
    pending = _PendingConnection()
    if not connections.enqueue(pending):
        return None
    try:
        return await pending
    except BaseException:
        if pending.done() and (connection := pending.result()) is not None:
            connections.release(connection)
        else:
            pending.start(None)
        raise


async def connect(
    r: Request,
    manager: ProcessManager,
    daemon: DaemonProcess,
    application_group: str,
    *,
    is_new: bool = False,
) -> BackendConnection | None:
    """Return a connection to a process of the groups; None, which is logged, if none takes it in time.

    *is_new*: it serves no other request before.
    """
    place = place_of(manager, daemon.name, application_group)
    path = place.path
    connections = pool_to(r.engine, path, place.capacity)
    connection = None if is_new else await _free_connection(connections)
    if connection is None or connection.is_closed:  # the process may have closed it before this task ran
        connection = connections.open_now(path)
    if connection is not None:
        return connection
    loop = asyncio.get_running_loop()
    until = loop.time() + daemon.connect_timeout
    request_at = loop.time()
    while loop.time() <= until:
        if loop.time() >= request_at:
            request_at = loop.time() + START_INTERVAL
            manager.request_variant(place.number, application_group)
        await asyncio.sleep(POLL)
        connection = connections.open_now(path)
        if connection is not None:
            return connection
    text = (
        f"mod_wsgi (pid={r.engine.runtime.pid}): Unable to connect to WSGI daemon process '{daemon.name}' on "
        f"'{path}' after multiple attempts as listener backlog limit was exceeded or the socket does not "
        "exist."
    )
    r.log("error", text, module=MODULE)
    return None
