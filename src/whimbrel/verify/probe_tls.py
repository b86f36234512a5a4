"""The TLS session of a probe, as the modules of an engine see it."""

from __future__ import annotations

import ssl

from whimbrel.base.dialect import Dialect
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.config.model import Server
from whimbrel.modules.ssl.mod_ssl.certificate_checks import Verification
from whimbrel.modules.ssl.mod_ssl.protocols import TLS13, negotiated
from whimbrel.modules.ssl.mod_ssl.settings import SslServerConfig
from whimbrel.verify.probe import TlsFacts


class HandshakeFailed(Exception):
    """The client does not complete a further handshake; without text: it has no post-handshake
    authentication (RFC 8446, 4.2.6), which no browser offers.
    """


@dataclass(slots=True)
class ProbeTls:
    """The session of a probe (engine.tls.TlsSession).

    A client shows its certificate when a handshake asks for it: the first one by SSLVerifyClient of the
    virtual host, a further one by that of a section, which TLS 1.3 has for no browser.

    Attributes:
        version: the newest one that client and server have, of a client with a certificate. Other sessions
            have one version on all sides, so that the variables with its name are no difference.
        verification: what the last handshake has checked; of a client without certificate nothing, as the
            handshake of a server that requires one fails.
    """

    facts: TlsFacts
    server: Server
    dialect: Dialect
    is_listed_name: bool = True
    session_id: str = ""
    is_resumed: bool = False
    has_secure_renegotiation: bool = True
    compression: str = "NULL"
    certificate: bytes = b""
    peer_certificate: bytes | None = None
    peer_chain: tuple[bytes, ...] = ()
    verify_error: str = ""
    is_unverified: bool = False
    version: str = ""
    cipher: str = ""
    verification: Verification = Verification()
    lines: list[object] = field(default_factory=list)

    def __post_init__(self) -> None:
        facts = self.facts
        self.version = facts.version
        if facts.peer_certificate:
            conf = self.server.config(SslServerConfig)
            self.version = self._negotiated()
            self.verification = Verification(conf.verify, conf.depth, conf.crl_may_miss)
            if self.verification.wants:
                self.peer_certificate = facts.peer_certificate
        self.cipher = facts.cipher if self.version == TLS13 else facts.older_cipher

    def _negotiated(self) -> str:
        return negotiated(self.dialect, self.server.config(SslServerConfig), self.facts.version)

    def end(self, *, is_answering: bool) -> None:
        """Keep all values: there is no connection."""

    def demand_certificate(self, wanted: Verification, ciphers: str = "") -> None:
        """Do a further handshake that checks certificates as *wanted*, and selects one of *ciphers*; raises
        HandshakeFailed.
        """
        if self._negotiated() == TLS13:
            raise HandshakeFailed
        if not self.facts.peer_certificate and wanted.requires:
            raise HandshakeFailed("peer did not return a certificate")
        self.verification = wanted
        if wanted.wants:
            self.peer_certificate = self.facts.peer_certificate or None
        if ciphers:
            self.cipher = _selected(ciphers)

    def distrust(self) -> None:
        """Mark the client's certificate as one whose issuer is unknown."""
        self.is_unverified = True

    @property
    def server_name(self) -> str:
        """The name that the client indicated."""
        return self.facts.server_name

    @property
    def used_bits(self) -> int:
        """The secret bits of the key."""
        return self.facts.bits

    @property
    def algorithm_bits(self) -> int:
        """The bits of the key."""
        return self.facts.bits


def _selected(ciphers: str) -> str:
    """Return the first cipher of TLS 1.2 that SSLCipherSuite names, "" for none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.set_ciphers(ciphers)
    except ssl.SSLError:
        return ""
    return next((one["name"] for one in context.get_ciphers() if one["protocol"] != TLS13), "")
