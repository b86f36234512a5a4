"""Connections to the processes of applications, which are started if need be."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from whimbrel.backends.connection import BackendConnection
from whimbrel.modules.support.processes.lease import connection_pool
from whimbrel.modules.support.processes.manager import ProcessManager
from whimbrel.modules.wsgi.mod_wsgi.options import DaemonProcess
from whimbrel.modules.wsgi.mod_wsgi.processes import WsgiPool

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

MODULE: Final = "wsgi"
POLL: Final = 0.01  # seconds between two attempts to connect
START_INTERVAL: Final = 1.0  # seconds between two requests to start processes


async def connect(
    r: Request, manager: ProcessManager, pool: WsgiPool, daemon: DaemonProcess, application_group: str
) -> BackendConnection | None:
    """Return a connection to a process of the groups; None, which is logged, if none takes it in time."""
    number, socket_name = pool.place_of(daemon.name, application_group)
    path = f"{manager.directory}/{socket_name}"
    connections = connection_pool(r.engine)
    connection = connections.open_now(path)
    if connection is not None:
        return connection
    loop = asyncio.get_running_loop()
    until = loop.time() + daemon.connect_timeout
    request_at = loop.time()
    while loop.time() <= until:
        if loop.time() >= request_at:
            request_at = loop.time() + START_INTERVAL
            manager.request_variant(number, application_group)
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
