"""TLS: a client's session, as access checks and variables see it (httpd's SSLConnRec), the interface of
virtual hosts for handshakes, and the parameters of connections to back ends.
"""

from __future__ import annotations

from collections.abc import Callable

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    import ssl

    from whimbrel.config.model import Server
    from whimbrel.engine.connection import Connection
    from whimbrel.engine.request import RequestEngine
    from whimbrel.http.syntax.client_hello import ClientHello

# note of a stream's connection: its request needs a handshake that HTTP/2 forbids (RFC 9113, 9.2.1)
RENEGOTIATION_NOTE: Final = "ssl-renegotiate-forbidden"
PLAIN_NOTE: Final = "ssl-plain-request"  # note of a connection whose client spoke HTTP instead of TLS
PLAIN_REQUEST: Final = b"GET / HTTP/1.0\r\n\r\n"  # stands for a plain request of any method


@dataclass(frozen=True, slots=True)
class BackendTlsParameters:
    """TLS of a connection to a back end.

    Attributes:
        server_name: the name to indicate (SNI), "" for none.
        host: the name that the certificate is checked for, "" for any.
    """

    context: ssl.SSLContext
    server_name: str
    host: str


class TlsSession(Protocol):
    """One connection's TLS session; certificates are DER.

    A response that depends on the session calls `Request.set_uncacheable`. One that only depends on TLS being
    used, or on the server name, is cached: entries are never shared by connections that differ in these.

    Attributes:
        server: the virtual host of that name, whose settings the handshake used.
        server_name: the name that the client indicated (SNI), "" without one.
        is_listed_name: it is "" or the name of a server in lower case.
        version: "TLSv1.3".
        cipher: OpenSSL's name of the cipher.
        used_bits, algorithm_bits: bits of the cipher's key that are secret, and in all.
        session_id: hexadecimal digits, "" without one.
        is_resumed: the session was resumed.
        has_secure_renegotiation: RFC 5746 is in use.
        compression: the name of the method, "NULL" without one.
        certificate: the server's. `peer_certificate`: the client's, None without one.
        peer_chain: the certificates that the client sent behind its own.
        verify_error: why the client's certificate was not accepted, "" if it was.
        is_unverified: it was accepted although its issuer is unknown (optional_no_ca).
    """

    @property
    def server(self) -> Server: ...

    @property
    def server_name(self) -> str: ...

    @property
    def is_listed_name(self) -> bool: ...

    @property
    def version(self) -> str: ...

    @property
    def cipher(self) -> str: ...

    @property
    def used_bits(self) -> int: ...

    @property
    def algorithm_bits(self) -> int: ...

    @property
    def session_id(self) -> str: ...

    @property
    def is_resumed(self) -> bool: ...

    @property
    def has_secure_renegotiation(self) -> bool: ...

    @property
    def compression(self) -> str: ...

    @property
    def certificate(self) -> bytes: ...

    @property
    def peer_certificate(self) -> bytes | None: ...

    @property
    def peer_chain(self) -> tuple[bytes, ...]: ...

    @property
    def verify_error(self) -> str: ...

    @property
    def is_unverified(self) -> bool: ...

    def end(self, *, is_answering: bool) -> None:
        """Drop the object of the library: the connection has ended. The values stay; a `session_id` that was
        not read before stays only if the connection *is_answering* a request, which is logged later.
        """


class TlsObject(Protocol):
    """A connection of the library; `ssl.SSLObject` is one."""

    def do_handshake(self) -> None: ...

    def read(self, size: int = 1024, /) -> bytes: ...

    def write(self, data: bytes | bytearray | memoryview, /) -> int: ...

    def pending(self) -> int: ...

    def unwrap(self) -> Any: ...


class TlsContext(Protocol):
    """Certificates, protocols and ciphers; `ssl.SSLContext` is one."""

    def wrap_bio(
        self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, server_side: bool = False
    ) -> TlsObject: ...


@dataclass(slots=True)
class TlsChoice:
    """How the handshake with a client goes on.

    Attributes:
        context: certificates, protocols and ciphers.
        server: the virtual host of the server name, or the default one of the address.
        protocol: the application protocol, "" without ALPN.
        may_block: returns True if a step of a handshake may wait for others, so that it runs in a thread;
            None: never.
    """

    context: TlsContext
    server: Server
    protocol: str = ""
    may_block: Callable[[], bool] | None = None


class TlsHosts(Protocol):
    """The virtual hosts of a configuration, for handshakes; mod_ssl provides it."""

    def is_enabled(self, address: str, port: int) -> bool:
        """Return True if clients of this address of the server speak TLS."""

    def choose(self, connection: Connection, hello: ClientHello) -> TlsChoice:
        """Return what *hello* selects."""

    def session(
        self, choice: TlsChoice, tls: TlsObject, hello: ClientHello, flush: Callable[[], None]
    ) -> TlsSession:
        """Return the facts of an established session, for `Connection.tls`.

        *flush* sends earlier responses, and what the library has written.
        """

    def failed(
        self,
        engine: RequestEngine,
        connection: Connection,
        choice: TlsChoice | None,
        tls: TlsObject | None,
        problem: Exception | None,
    ) -> None:
        """Log a failed handshake: *problem* is EOFError if the client closed it, None if the server did."""

    def report(
        self, engine: RequestEngine, connection: Connection, choice: TlsChoice, tls: TlsObject
    ) -> None:
        """Log what a step of a handshake has noted, or why an established connection ends."""

    def spoke_http(self, engine: RequestEngine, connection: Connection) -> None:
        """Log that a client spoke plain HTTP."""
