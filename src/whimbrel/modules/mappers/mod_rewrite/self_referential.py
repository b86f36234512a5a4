"""URLs that refer to this server."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whimbrel.base.numbers import strtol
from whimbrel.config.vhosts import matcher
from whimbrel.engine import identity
from whimbrel.modules.mappers.mod_rewrite.urls import absolute

if TYPE_CHECKING:
    from whimbrel.config.model import Server
    from whimbrel.engine.request import Request

_URL = re.compile(r"(?i)(https?)://([^/:]*)(?::([^/]*))?(.*)", re.S)


def fully_qualified(r: Request, uri: str, *, version22: bool) -> str:
    """Return *uri* with scheme, host and port of this server, unless it has its own."""
    if r.method == "CONNECT" or absolute(uri, version22=version22)[0]:
        return uri
    return r.engine.construct_url(r, uri if uri.startswith("/") else "/" + uri)


def reduced(r: Request, url: str) -> str | None:
    """Return the path of a URL that names *r*'s server, else None (reduce_uri, ap_matches_request_vhost)."""
    if url[:4].lower() != "http":
        return None
    match = _URL.fullmatch(url)
    scheme = identity.scheme(r)
    if match is None or match[1].lower() != scheme:
        return None
    host = match[2]
    written = match[3]
    path = match[4]
    port = identity.DEFAULT_PORTS.get(scheme, 80) if written is None else _number(written)
    return (path or "/") if _is_own_address(r.server, host, port) else None


def _number(text: str) -> int:
    return strtol(text)[0] & 0xFFFF


def _is_own_address(server: Server, host: str, port: int) -> bool:
    low = host.lower()
    for address in server.addresses:
        if address.port in (0, port) and (address.written or address.host).lower() == low:
            return True
    if port != server.port:
        return False
    return (
        low == server.name.lower()
        or low in (name.lower() for name in server.names)
        or any(matcher(p)(low) for p in server.wild_names)
    )
