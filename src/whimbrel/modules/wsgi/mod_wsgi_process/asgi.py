"""ASGI applications: uvicorn serves them on the socket of the process."""

from __future__ import annotations

import sys
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from .request import ApplicationRequest

if TYPE_CHECKING:
    from .process import Process
    from .records import Channel

    Asgi = Callable[[dict[str, Any], object, object], Awaitable[None]]

CLIENT = b"x-whimbrel-client"
IDLE = 86400  # seconds; the server ends idle connections, so it never meets an end in the middle of a request
DELAY = 5.0  # seconds before a process ends whose application cannot be loaded


class BehindServer:
    """The application as the server's client sees it: address and scheme are those of the client.

    The server is the only peer of the socket. It sets both fields, whatever the client sent.
    """

    def __init__(self, application: Asgi) -> None:
        self.application = application

    async def __call__(self, scope: dict[str, Any], receive: object, send: object) -> None:
        if scope["type"] in ("http", "websocket"):
            for name, value in scope["headers"]:
                if name == CLIENT:
                    scope["client"] = (value.decode("latin-1"), 0)
                elif name == b"x-forwarded-proto":
                    is_secure = value == b"https"
                    schemes = ("ws", "wss") if scope["type"] == "websocket" else ("http", "https")
                    scope["scheme"] = schemes[is_secure]
            scope["headers"] = [field for field in scope["headers"] if field[0] != CLIENT]
        await self.application(scope, receive, send)


def serve(process: Process, channel: Channel, settings: dict[str, str]) -> None:
    """Load the script and serve its application until SIGTERM."""
    request = ApplicationRequest(process, channel, {"mod_wsgi.process_group": process.name})
    module = request.loaded(settings["script"])
    application = getattr(module, settings["callable"], None)
    if module is not None and application is None:
        words = "Target ASGI script '%s' does not contain ASGI application '%s'."
        process.log("error", words % (settings["script"], settings["callable"]))
    try:
        import uvicorn
    except ImportError:
        process.log("error", "ASGI applications need the package uvicorn in %s." % sys.prefix)
        application = None
    if application is None:
        time.sleep(DELAY)
        sys.exit(1)
    config = uvicorn.Config(
        BehindServer(application),
        root_path=settings["root_path"],
        proxy_headers=False,
        server_header=False,
        date_header=False,
        log_level="warning",
        access_log=False,
        lifespan="auto",
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=process.settings["shutdown_timeout"] or None,
    )
    process.listener.setblocking(False)
    uvicorn.Server(config).run(sockets=[process.listener])
