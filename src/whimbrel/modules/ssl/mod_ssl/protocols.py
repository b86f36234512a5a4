"""The versions of TLS that a server takes (SSLProtocol), and the one that a client gets."""

from __future__ import annotations

from typing import Final

from whimbrel.base.dialect import Dialect
from whimbrel.modules.ssl.mod_ssl.settings import PROTOCOLS, SslServerConfig

TLS13: Final = "TLSv1.3"
_BEFORE_13: Final = frozenset(PROTOCOLS) - {TLS13}


def protocols_of(dialect: Dialect, conf: SslServerConfig) -> frozenset[str] | None:
    """Return SSLProtocol, None for all; 2.2 has no TLS 1.3."""
    if conf.protocols is None and dialect.tls_protocols_22:
        return _BEFORE_13
    return conf.protocols


def negotiated(dialect: Dialect, conf: SslServerConfig, highest: str) -> str:
    """Return the version of a session with a client whose newest one is *highest* (RFC 8446, 4.2.1).

    It is *highest* where the server has none in common with the client: no request comes then.
    """
    allowed = protocols_of(dialect, conf)
    known = PROTOCOLS[: PROTOCOLS.index(highest) + 1]
    common = [name for name in known if allowed is None or name in allowed]
    if dialect.tls_protocols_22:  # also where SSLProtocol says `all`
        common = [name for name in common if name != TLS13]
    return common[-1] if common else highest
