"""TLS that HTTP/2 accepts (RFC 9113, 9.2.2 and appendix A; h2_protocol_is_acceptable_c1)."""

from __future__ import annotations

from typing import Final

from whimbrel.engine.tls import TlsSession

_OLD: Final = frozenset(("SSLv3", "TLSv1", "TLSv1.1"))
_VERSION: Final = "TLSv1.2"  # the last one in which ciphers name their key exchange
_EPHEMERAL: Final = ("ECDHE-", "DHE-")
_AEAD: Final = ("GCM", "CHACHA20", "CCM")


def is_suitable(tls: TlsSession | None) -> bool:
    """Return True if it may have HTTP/2: no TLS, or a cipher with authentication and ephemeral keys."""
    if tls is None:
        return True
    if tls.version in _OLD:
        return False
    return tls.version != _VERSION or (
        tls.cipher.startswith(_EPHEMERAL) and any(mode in tls.cipher for mode in _AEAD)
    )
