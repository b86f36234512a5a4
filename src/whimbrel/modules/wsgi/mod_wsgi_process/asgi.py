"""ASGI applications: uvicorn serves them on the socket of the process."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any

from .request import ApplicationRequest

if TYPE_CHECKING:
    from .process import Process
    from .records import Channel

    Send = Callable[[dict[str, Any]], Awaitable[None]]
    Asgi = Callable[[dict[str, Any], object, Send], Awaitable[None]]

CLIENT = b"x-whimbrel-client"
EARLY_HINT = "http.response.early_hint"
_LINK = re.compile(rb"[\t -~\x80-\xff]*\Z").match
IDLE = 86400  # seconds; the server ends idle connections, so it never meets an end in the middle of a request
DELAY = 5.0  # seconds before a process ends whose application cannot be loaded


class BehindServer:
    """The application as the server's client sees it: address and scheme are those of the client.

    The server is the only peer of the socket. It sets both fields, whatever the client sent.
    """

    def __init__(self, application: Asgi) -> None:
        self.application = application

    async def __call__(self, scope: dict[str, Any], receive: object, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            for name, value in scope["headers"]:
                if name == CLIENT:
                    scope["client"] = (value.decode("latin-1"), 0)
                elif name == b"x-forwarded-proto":
                    is_secure = value == b"https"
                    schemes = ("ws", "wss") if scope["type"] == "websocket" else ("http", "https")
                    scope["scheme"] = schemes[is_secure]
            scope["headers"] = [field for field in scope["headers"] if field[0] != CLIENT]
        hints = EarlyHints(send)
        if scope["type"] == "http" and hints.transport is not None:
            scope["extensions"] = dict(scope.get("extensions") or {}, **{EARLY_HINT: {}})
            send = hints.send
        await self.application(scope, receive, send)


class EarlyHints:
    """The extension `http.response.early_hint` of ASGI: an interim response with status 103 (RFC 8297).

    uvicorn has it for HTTP/2 only, and the server speaks HTTP/1.1 with it. So the bytes go to the transport
    of uvicorn's request, in front of the final response.

    Attributes:
        transport: None where uvicorn does not show it.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self.transport: Any = getattr(getattr(send, "__self__", None), "transport", None)
        self._has_final_head = False

    async def send(self, message: dict[str, Any]) -> None:
        """Send a message of the application."""
        if message["type"] != EARLY_HINT:
            self._has_final_head = True
            await self._send(message)
            return
        if self._has_final_head:
            raise RuntimeError("http.response.early_hint after http.response.start")
        data = interim_response(message["links"])
        if not self.transport.is_closing():
            self.transport.write(data)


def interim_response(links: Iterable[bytes]) -> bytes:
    """Return the response with *links*, the values of Link; ValueError if one is not one line."""
    lines = [b"HTTP/1.1 103 Early Hints"]
    for link in links:
        value = bytes(link)
        if not _LINK(value):
            raise ValueError("control character in a link of http.response.early_hint")
        lines.append(b"link: " + value)
    return b"\r\n".join([*lines, b"", b""])


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
