"""Identity of the server: Server field, signature, self-referential URLs (ServerTokens, ServerSignature,
UseCanonicalName).
"""

from __future__ import annotations

from functools import lru_cache

from whimbrel import __version__
from whimbrel.base.static_typing import TYPE_CHECKING, Any, Final
from whimbrel.config.core_config import CoreDirConfig, CoreServerConfig
from whimbrel.http.syntax.url import construct_url as join_url

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_MAJOR, _MINOR = __version__.split(".")[:2]
_TOKENS = {
    "prod": "Whimbrel",
    "productonly": "Whimbrel",
    "major": f"Whimbrel/{_MAJOR}",
    "minor": f"Whimbrel/{_MAJOR}.{_MINOR}",
    "min": f"Whimbrel/{_MAJOR}.{_MINOR}",
    "minimal": f"Whimbrel/{_MAJOR}.{_MINOR}",
}
FULL = f"Whimbrel/{_MAJOR}.{_MINOR} (Unix)"
_ORIGINS: Final = "own origins"  # a plan's note: scheme, host and port of its URLs by what they depend on
MAX_ORIGINS: Final = 256
MAX_ORIGIN: Final = 300
DEFAULT_PORTS = {"http": 80, "https": 443}


def server_tokens(r: Request) -> str:
    """Return the product tokens for ServerTokens, which is the main server's."""
    return _TOKENS.get(r.engine.main.config(CoreServerConfig).server_tokens.lower(), FULL)


def server_name(r: Request) -> str:
    """Return the host name for URLs that point back here (ap_get_server_name)."""
    core = r.dir_config(CoreDirConfig)
    if core.use_canonical_name == 0 and r.hostname is not None:
        return r.hostname  # empty for a target such as http:///path
    if core.use_canonical_name == 2:
        return local_name(r.connection.local_ip)
    name: str = r.server.name or r.engine.main.name
    return name or r.connection.local_ip


@lru_cache(maxsize=256)
def local_name(address: str) -> str:
    """Return the name of a local address (UseCanonicalName DNS), looked up once; or the address."""
    import socket  # imported late: it is slow, and -t resolves nothing

    try:
        return socket.getnameinfo((address, 0), socket.NI_NAMEREQD)[0]
    except OSError:
        return address


def scheme(r: Request) -> str:
    """Return ``https`` over TLS, else the scheme of ServerName or ``http``."""
    return "https" if r.connection.tls is not None else r.server.scheme or "http"


def server_port(r: Request) -> int:
    """Return the port for URLs that point back here (ap_get_server_port)."""
    core = r.dir_config(CoreDirConfig)
    default = DEFAULT_PORTS.get(scheme(r), 80)
    physical = r.connection.local_port if core.use_canonical_port else 0
    if core.use_canonical_name != 1:
        return r.port if r.port is not None else physical or r.server.port or default
    return r.server.port or physical or default


def construct_url(r: Request, uri: str) -> str:
    """Return the absolute URL of *uri* on this server (ap_construct_url)."""
    known: dict[Any, str] | None = r.plan.notes.get(_ORIGINS)
    if known is None or len(known) >= MAX_ORIGINS:
        known = {}
        r.plan.notes[_ORIGINS] = known
    key = (r.hostname, r.port, r.connection.local_ip, r.connection.local_port, r.connection.tls is None)
    origin = known.get(key)
    if origin is None:
        name = server_name(r)
        if ":" in name and not name.startswith("["):
            name = f"[{name}]"
        origin = join_url(scheme(r), name, server_port(r), "")
        if len(origin) <= MAX_ORIGIN:
            known[key] = origin
    return origin + uri


def signature(r: Request, prefix: str = "<hr>\n") -> str:
    """Return the last lines of a generated page, after *prefix*; "" for ServerSignature Off."""
    mode = r.dir_config(CoreDirConfig).server_signature
    if not mode:
        return ""
    from whimbrel.http.semantics.error_page import (
        signature as signature_html,
    )  # a check of a configuration needs no pages

    shown = "EMail" if mode == 2 else "On"
    return signature_html(shown, server_tokens(r), server_name(r), server_port(r), r.server.admin, prefix)
