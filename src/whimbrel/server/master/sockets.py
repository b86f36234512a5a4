"""Listening sockets: bound once by the master, inherited by every worker, reused over restarts.

They are bound before the server is imported, and as objects of `_socket`: to import `socket` takes a
twentieth of the time until clients can connect.
"""

from __future__ import annotations

import _socket
from collections.abc import Iterable, Mapping

from whimbrel.base.dialect import Dialect
from whimbrel.base.errors import NotBound, StartError, apr_error
from whimbrel.base.static_typing import TYPE_CHECKING
from whimbrel.config.model import Listener
from whimbrel.server.master.messages import with_code

if TYPE_CHECKING:
    import socket

Key = tuple[str, int]


def bind_all(
    listeners: Iterable[Listener], cached: Mapping[Key, _socket.socket], backlog: int, dialect: Dialect
) -> dict[Key, _socket.socket]:
    """Return the sockets for *listeners*, reusing those of *cached*.

    Raises StartError with httpd's messages after it has closed the sockets that it bound.
    """
    out: dict[Key, _socket.socket] = {}
    try:
        for listener in listeners:
            key = (listener.address, listener.port)
            if key in out and not dialect.listen_22:
                continue
            out[key] = cached[key] if key in cached and key not in out else bind(listener, backlog)
    except OSError as problem:
        for key, sock in out.items():
            if cached.get(key) is not sock:
                sock.close()
        shown = (
            f"[{listener.address}]"
            if ":" in listener.address
            else listener.address or ("[::]" if has_ipv6() else "0.0.0.0")
        )
        raise NotBound(
            with_code(
                dialect,
                "AH00072",
                f"make_sock: could not bind to address {shown}:{listener.port}",
                apr_error(problem),
            ),
            "no listening sockets available, shutting down",
            with_code(dialect, "AH00015", "Unable to open logs"),
            port=listener.port,
            number=problem.errno or 0,
        ) from None
    if not out:
        raise StartError(
            "no listening sockets available, shutting down",
            with_code(dialect, "AH00015", "Unable to open logs"),
        )
    return out


def has_ipv6() -> bool:
    """Return True if the system can open an IPv6 socket."""
    if not _socket.has_ipv6:
        return False
    try:
        _socket.socket(_socket.AF_INET6).close()
    except OSError:
        return False
    return True


def bind(listener: Listener, backlog: int) -> _socket.socket:
    """Bind one listening socket; an empty address is any, with IPv6 and IPv4 on one socket where possible."""
    any_six = not listener.address and has_ipv6()
    family = _socket.AF_INET6 if any_six or ":" in listener.address else _socket.AF_INET
    sock = _socket.socket(family, _socket.SOCK_STREAM)
    try:
        sock.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
        if family == _socket.AF_INET6:
            try:
                sock.setsockopt(_socket.IPPROTO_IPV6, _socket.IPV6_V6ONLY, 0 if any_six else 1)
            except OSError:
                pass
        sock.bind((listener.address or ("::" if any_six else "0.0.0.0"), listener.port))
        sock.listen(backlog)
        sock.setblocking(False)
    except OSError:
        sock.close()
        raise
    return sock


def to_sockets(bound: Mapping[Key, _socket.socket]) -> dict[Key, socket.socket]:
    """Return the sockets as objects of `socket`, which own the descriptors from here on."""
    import socket

    return {
        key: sock if isinstance(sock, socket.socket) else socket.socket(fileno=sock.detach())
        for key, sock in bound.items()
    }
