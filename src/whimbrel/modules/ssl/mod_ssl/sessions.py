"""TLS sessions of clients, as access checks and variables see them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import asyncio
    import ssl

    from whimbrel.config.model import Server

RESUMED_NAME: Final = "resumed_name"  # attribute of an object of the library


def note_name(tls: Any, name: str | None, _context: object) -> None:
    """Keep the server name that the library reports: that of the message, or of the session it resumes."""
    if name:
        setattr(tls, RESUMED_NAME, name)


class EndedTls:
    """Values of an `ssl.SSLObject` whose connection has ended, by the same names.

    Cached responses keep the connection that they were built for, and the object has 40 kB of buffers.
    """

    __slots__ = ("_cipher", "_compression", "_version", RESUMED_NAME, "session_reused")
    session: ssl.SSLSession | None = None

    def __init__(self, tls: Any) -> None:
        self._version: str | None = tls.version()
        self._cipher: tuple[str, str, int] | None = tls.cipher()
        self._compression: str | None = tls.compression()
        self.session_reused = tls.session_reused
        setattr(self, RESUMED_NAME, getattr(tls, RESUMED_NAME, ""))

    def version(self) -> str | None:
        return self._version

    def cipher(self) -> tuple[str, str, int] | None:
        return self._cipher

    def compression(self) -> str | None:
        return self._compression


class EndedOpenSsl:
    """Values of an `openssl.OpenSslObject` whose connection has ended, by the same names; see `EndedTls`.

    Attributes:
        connection: those of the library's connection.
        verify_error, is_unverified, verification, lines: see `openssl.OpenSslObject`.
    """

    __slots__ = (
        "_certificate",
        "_cipher",
        "_is_resumed",
        "_peer_certificates",
        "_server_name",
        "_session_id",
        "_version",
        "is_unverified",
        "lines",
        "verification",
        "verify_error",
    )

    def __init__(self, tls: Any) -> None:
        connection = tls.connection
        self._version: str = connection.get_protocol_version_name()
        self._cipher: tuple[str | None, int | None] = (
            connection.get_cipher_name(),
            connection.get_cipher_bits(),
        )
        self._server_name: bytes | None = connection.get_servername()
        self._session_id: str = tls.session_id()
        self._is_resumed: bool = tls.is_resumed()
        self._certificate: bytes = tls.own_certificate()
        self._peer_certificates: list[bytes] = tls.peer_certificates()
        self.verify_error: str = tls.verify_error
        self.is_unverified: bool = tls.is_unverified
        self.verification = tls.verification
        self.lines = tls.lines

    @property
    def connection(self) -> EndedOpenSsl:
        return self

    def get_protocol_version_name(self) -> str:
        return self._version

    def get_cipher_name(self) -> str | None:
        return self._cipher[0]

    def get_cipher_bits(self) -> int | None:
        return self._cipher[1]

    def get_servername(self) -> bytes | None:
        return self._server_name

    def session_id(self) -> str:
        return self._session_id

    def is_resumed(self) -> bool:
        return self._is_resumed

    def own_certificate(self) -> bytes:
        return self._certificate

    def peer_certificates(self) -> list[bytes]:
        return self._peer_certificates

    def demand_certificate(self, _verification: Any, _ciphers: str = "") -> asyncio.Future[None]:
        """Refuse: the client is gone. Raises RenegotiationFailed."""
        from whimbrel.modules.ssl.mod_ssl.openssl import RenegotiationFailed  # needs an optional library

        raise RenegotiationFailed


def _send_nothing() -> None:
    """Take the place of a closed connection's function."""


class StandardSession:
    """A session of the standard library, without a client certificate (TlsSession)."""

    __slots__ = ("_certificates", "_session_id", "_tls", "is_listed_name", "server", "server_name")

    def __init__(
        self, tls: Any, server: Server, name: str, is_listed_name: bool, certificates: list[bytes]
    ) -> None:
        self._tls = tls
        self.server = server
        self.server_name = name
        self.is_listed_name = is_listed_name
        self._certificates = certificates
        self._session_id: str | None = None  # once it was read

    has_secure_renegotiation = True  # the library accepts no other clients
    peer_certificate: bytes | None = None
    peer_chain: tuple[bytes, ...] = ()
    verify_error = ""
    is_unverified = False

    def end(self, *, is_answering: bool) -> None:
        """Keep the values of the session alone."""
        if not isinstance(self._tls, EndedTls):
            if is_answering and self._session_id is None:  # a log may show it
                self._read_session_id()
            self._tls = EndedTls(self._tls)

    @property
    def version(self) -> str:
        """The protocol: "TLSv1.3"."""
        return str(self._tls.version() or "")

    @property
    def cipher(self) -> str:
        """OpenSSL's name of the cipher."""
        cipher = self._tls.cipher()
        return "" if cipher is None else str(cipher[0])

    @property
    def used_bits(self) -> int:
        """Secret bits of the cipher's key."""
        cipher = self._tls.cipher()
        return 0 if cipher is None else cipher[2]

    @property
    def algorithm_bits(self) -> int:
        """Bits of the cipher's key."""
        return self.used_bits

    @property
    def session_id(self) -> str:
        """The session's id in hexadecimal digits, "" without one."""
        found = self._session_id
        return self._read_session_id() if found is None else found

    def _read_session_id(self) -> str:
        """Read the session's id, once: before 3.12.8 and 3.13.1 each look of Python at a session leaves a
        copy of a kilobyte behind (CPython's issue 116810).
        """
        session: ssl.SSLSession | None = self._tls.session
        self._session_id = "" if session is None else session.id.hex()
        return self._session_id

    @property
    def is_resumed(self) -> bool:
        """True if the session was resumed."""
        return bool(self._tls.session_reused)

    @property
    def resumed_name(self) -> str:
        """The server name that a resumed session of TLS 1.2 was made for, "" without one."""
        return getattr(self._tls, RESUMED_NAME, "")

    @property
    def compression(self) -> str:
        """The name of the compression method."""
        return str(self._tls.compression() or "NULL")

    @property
    def certificate(self) -> bytes:
        """The server's certificate: the one for the kind of key that the cipher names, else the first."""
        found = self._certificates
        if len(found) > 1:
            from whimbrel.modules.ssl.mod_ssl import certificates  # needs an optional library

            if "-RSA-" in self.cipher:
                wanted = "RSA"
            elif "-ECDSA-" in self.cipher:
                wanted = "ECC"
            else:
                wanted = ""
            for der in found:
                if certificates.kind_of_key(certificates.parse(der)) == wanted:
                    return der
        return found[0] if found else b""


class LibrarySession(StandardSession):
    """A session of pyOpenSSL, which may have a client certificate."""

    __slots__ = ("_flush",)

    def __init__(
        self,
        tls: Any,
        server: Server,
        name: str,
        is_listed_name: bool,
        certificates: list[bytes],
        flush: Callable[[], None],
    ) -> None:
        super().__init__(tls, server, name, is_listed_name, certificates)
        self._flush = flush

    def end(self, *, is_answering: bool) -> None:
        """Keep the values of the session alone, with those of the client's certificate."""
        if not isinstance(self._tls, EndedOpenSsl):
            self._tls = EndedOpenSsl(self._tls)
            self._flush = _send_nothing

    @property
    def version(self) -> str:
        return str(self._tls.connection.get_protocol_version_name())

    @property
    def cipher(self) -> str:
        return self._tls.connection.get_cipher_name() or ""

    @property
    def used_bits(self) -> int:
        return self._tls.connection.get_cipher_bits() or 0

    @property
    def session_id(self) -> str:
        return str(self._tls.session_id())

    @property
    def is_resumed(self) -> bool:
        return bool(self._tls.is_resumed())

    @property
    def resumed_name(self) -> str:
        return (self._tls.connection.get_servername() or b"").decode("latin-1")

    @property
    def compression(self) -> str:
        """The name of the compression method: the library has none."""
        return "NULL"

    @property
    def certificate(self) -> bytes:
        return bytes(self._tls.own_certificate())

    @property
    def peer_certificate(self) -> bytes | None:  # type: ignore[override]
        """The client's certificate, None without one."""
        chain = self._tls.peer_certificates()
        return chain[0] if chain else None

    @property
    def peer_chain(self) -> tuple[bytes, ...]:  # type: ignore[override]
        """The certificates that the client sent behind its own."""
        return tuple(self._tls.peer_certificates()[1:])

    @property
    def verify_error(self) -> str:  # type: ignore[override]
        """Why the client's certificate was not accepted, "" if it was."""
        return str(self._tls.verify_error)

    @property
    def is_unverified(self) -> bool:  # type: ignore[override]
        """True if the certificate was accepted although its issuer is unknown."""
        return bool(self._tls.is_unverified)

    @property
    def verification(self) -> Any:
        """How certificates are checked at present (certificate_checks.Verification)."""
        return self._tls.verification

    @property
    def lines(self) -> Any:
        """Lines for the error log."""
        return self._tls.lines

    def distrust(self) -> None:
        """Mark the client's certificate as one whose issuer is unknown, for the rest of the connection."""
        self._tls.is_unverified = True

    def demand_certificate(self, verification: Any, ciphers: str = "") -> asyncio.Future[None]:
        self._flush()  # earlier responses, which the client expects before the handshake
        waiter: asyncio.Future[None] = self._tls.demand_certificate(verification, ciphers)
        self._flush()
        return waiter
