"""TLS to back ends: the steps in which mod_ssl's provider ("ssl", "proxy") takes part."""

from __future__ import annotations

import ssl
from typing import Any

from whimbrel.backends.connection import BackendConnection
from whimbrel.base.numbers import lower
from whimbrel.engine.request import Request
from whimbrel.engine.tls import BackendTlsParameters
from whimbrel.modules.proxy.mod_proxy.scheme import ProxyCall


class TlsRefused(Exception):
    """The handshake failed, or the certificate is not acceptable; the reason is logged."""


def is_secure(url: str) -> bool:
    """Return True if the scheme of *url* has TLS."""
    return lower(url[:8]).startswith(("https:", "wss:"))


def is_possible(r: Request) -> bool:
    """Return True if a module makes connections with TLS (ap_ssl_has_outgoing_handlers)."""
    return r.engine.configuration.provider("ssl", "proxy") is not None


def _interface(r: Request) -> Any:
    return r.engine.configuration.provider("ssl", "proxy")()


def parameters(call: ProxyCall, host: str, address: str, protocol: str = "") -> BackendTlsParameters | None:
    """Return the parameters of a connection to *host* (the client's own Host field with ProxyPreserveHost).

    None if TLS is not enabled, which is logged. *address* is ``IP:PORT``; *protocol* is offered by ALPN.
    """
    r = call.r
    name = (r.hostname or "") if call.dir_conf.preserve_host else host
    found: BackendTlsParameters | None = _interface(r).parameters(r, name, address, protocol)
    return found


def check(r: Request, connection: BackendConnection, tls: BackendTlsParameters, address: str) -> None:
    """Check the certificate of a new connection; raises TlsRefused, and then closes the connection."""
    peer = connection.transport.get_extra_info("ssl_object")
    if not _interface(r).check(r, tls.host, peer, address):
        connection.close()
        raise TlsRefused


def is_handshake_failure(problem: OSError) -> bool:
    """Return True for an error of the TLS layer, or a connection that ended within the handshake."""
    return isinstance(problem, (ssl.SSLError, ConnectionResetError, ConnectionAbortedError))


def refuse(r: Request, problem: OSError, address: str) -> TlsRefused:
    """Log a failed handshake; return the exception to raise."""
    _interface(r).failed(r, problem, address)
    return TlsRefused()
