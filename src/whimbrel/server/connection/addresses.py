"""Addresses of both ends of a transport, and the `Connection` that begins with them."""

from __future__ import annotations

import asyncio
from typing import Any, Final, cast

from whimbrel.engine.connection import Connection

CLIENT_CONNECTION: Final = "client_connection"  # extra information of a layer: its `Connection`


def client_connection(transport: asyncio.BaseTransport) -> Connection:
    """Return the connection that a lower layer has begun, else a new one."""
    begun: Connection | None = transport.get_extra_info(CLIENT_CONNECTION)
    if begun is not None:
        return begun
    client, local = addresses(transport)
    return Connection(plain(client[0]), client[1], plain(local[0]), local[1])


def addresses(transport: asyncio.BaseTransport) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the addresses of client and server; abort a connection that was reset before it was accepted.

    Such a connection has no peer and delivers no data.
    """
    client = transport.get_extra_info("peername")
    local = transport.get_extra_info("sockname")
    if client is None or local is None:
        cast(asyncio.Transport, transport).abort()
    return client or ("0.0.0.0", 0), local or ("0.0.0.0", 0)


def plain(address: str) -> str:
    """Return an address without scope, and IPv4-mapped IPv6 as IPv4."""
    return address[7:] if address.startswith("::ffff:") and "." in address else address.partition("%")[0]
