"""Connections of pyOpenSSL behind the interface of `ssl`: for client certificates and TLS 1.3 ciphers.

The standard library has no callback for the verification of certificates, and cannot renegotiate.  Needs the
package pyOpenSSL (extra "tls").
"""

from __future__ import annotations

import asyncio
import os
import ssl
import weakref
from collections.abc import Callable
from threading import get_ident
from typing import TYPE_CHECKING, Any, Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from OpenSSL import SSL, crypto
from OpenSSL._util import ffi, lib

from whimbrel.base.latin1 import to_bytes
from whimbrel.engine.log.error_log_line import LogLine
from whimbrel.modules.ssl.mod_ssl.certificate_checks import Verification

if TYPE_CHECKING:
    from whimbrel.modules.ssl.mod_ssl.client_status import ClientStatus
    from whimbrel.modules.ssl.mod_ssl.key_files import KeyPair
    from whimbrel.modules.ssl.mod_ssl.stapling import Stapling

OP_NO_RESUMPTION_ON_RENEGOTIATION: Final = 0x00010000
CHUNK: Final = 64 * 1024
PIECE: Final = 1 << 30  # bytes of one call of the library at most
_VERSIONS: Final = (
    ("TLSv1", SSL.TLS1_VERSION, SSL.OP_NO_TLSv1),
    ("TLSv1.1", SSL.TLS1_1_VERSION, SSL.OP_NO_TLSv1_1),
    ("TLSv1.2", SSL.TLS1_2_VERSION, SSL.OP_NO_TLSv1_2),
    ("TLSv1.3", SSL.TLS1_3_VERSION, SSL.OP_NO_TLSv1_3),
)


def error_text(number: int) -> str:
    """Return OpenSSL's words for an error of verification."""
    return str(ffi.string(lib.X509_verify_cert_error_string(number)).decode())


class RenegotiationFailed(Exception):
    """The client did not complete a further handshake."""


class OpenSslContext:
    """One context (TlsContext).

    Attributes:
        context: pyOpenSSL's.
        verification: how certificates of clients are checked at the first handshake.
        status: how OCSP responders are asked about them; None: not at all.
        stapling: responses about the server's own certificates; None without any.
        make_variant: returns the same context with other ciphers (SSLCipherSuite of a section).
    """

    __slots__ = (
        "_variants",
        "context",
        "make_variant",
        "may_renegotiate",
        "stapling",
        "status",
        "verification",
    )

    def __init__(self, verification: Verification, *, may_renegotiate: bool) -> None:
        context = SSL.Context(SSL.TLS_SERVER_METHOD)
        self.context = context
        self.verification = verification
        self.may_renegotiate = may_renegotiate
        self.status: ClientStatus | None = None
        self.stapling: Stapling | None = None
        self.make_variant: Callable[[str], OpenSslContext] | None = None
        self._variants: dict[str, OpenSslContext] = {}
        options = SSL.OP_SINGLE_DH_USE | SSL.OP_SINGLE_ECDH_USE | OP_NO_RESUMPTION_ON_RENEGOTIATION
        context.set_options(options if may_renegotiate else options | SSL.OP_NO_RENEGOTIATION)
        lib.SSL_CTX_set_verify(context._context, mode_of(verification), _verified)
        if may_renegotiate:
            context.set_info_callback(_changed)

    def set_protocols(self, protocols: frozenset[str] | None) -> None:
        """Enable exactly the protocols of SSLProtocol."""
        known = [row for row in _VERSIONS if protocols is None or row[0] in protocols]
        if known:
            self.context.set_min_proto_version(known[0][1])
            self.context.set_max_proto_version(known[-1][1])
        for name, _version, option in _VERSIONS:
            if protocols is not None and name not in protocols:
                self.context.set_options(option)

    def load(self, pair: KeyPair) -> None:
        """Add a certificate with its chain and key; the library reads them from files only."""
        handle = os.memfd_create("certificate")
        try:
            pem = "".join(map(ssl.DER_cert_to_PEM_cert, pair.chain)).encode()
            os.write(handle, pair.key + pem)
            path = f"/proc/self/fd/{handle}"
            self.context.use_certificate_chain_file(path)
            self.context.use_privatekey_file(path)
        finally:
            os.close(handle)

    def load_authorities(self, file: str, path: str, names: list[x509.Certificate]) -> None:
        """Trust the authorities of a file and a directory; the names of *names* are sent to clients."""
        self.context.load_verify_locations(to_bytes(file) if file else None, to_bytes(path) if path else None)
        subjects = [crypto.X509.from_cryptography(one).get_subject() for one in names]
        self.context.set_client_ca_list(subjects)

    def check_revocation(self, file: str, path: str, *, chain: bool) -> None:
        """Check the last certificate or the whole *chain* against revocation lists."""
        store = self.context.get_cert_store()
        assert store is not None
        if file or path:
            store.load_locations(to_bytes(file) if file else None, to_bytes(path) if path else None)
        flags = crypto.X509StoreFlags.CRL_CHECK
        store.set_flags(flags | crypto.X509StoreFlags.CRL_CHECK_ALL if chain else flags)

    def offer(self, protocol: str) -> None:
        """Select *protocol* by ALPN from clients that offer it."""
        name = protocol.encode()
        self.context.set_alpn_select_callback(
            lambda _connection, offers: name if name in offers else SSL.NO_OVERLAPPING_PROTOCOLS
        )

    def variant(self, ciphers: str) -> OpenSslContext:
        """Return the context with the ciphers of a section, made at its first use.

        Raises:
            OSError, SSL.Error: a file of authorities cannot be read any longer.
        """
        found = self._variants.get(ciphers)
        if found is None:
            assert self.make_variant is not None
            found = self.make_variant(ciphers)
            self._variants[ciphers] = found
        return found

    def staple(self, stapling: Stapling) -> None:
        """Send the responses of *stapling* to clients that want them."""
        self.stapling = stapling
        self.context.set_ocsp_server_callback(_stapled, stapling)

    def may_block(self) -> bool:
        """Return True if a step of a handshake may wait for a responder."""
        return self.status is not None or (self.stapling is not None and self.stapling.needs_fetch())

    def wrap_bio(
        self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, server_side: bool = False
    ) -> OpenSslObject:
        """Return a new connection over two buffers."""
        return OpenSslObject(self, incoming, outgoing)


class OpenSslObject:
    """One connection, with the interface of `ssl.SSLObject`.

    Attributes:
        verification: how the next certificate is checked.
        lines: lines for the error log.
        verify_error: why a certificate was refused; `is_unverified`: its issuer is unknown (optional_no_ca).
        is_rejected: the client began a handshake that it may not.
        waiter: resolved when a further handshake is complete.
        status: see `OpenSslContext`.
    """

    __slots__ = (
        "__weakref__",
        "_has_finished",
        "_has_input",
        "_incoming",
        "_issuer",
        "_loop_thread",
        "_ended",
        "_is_open",
        "_context",
        "_outgoing",
        "connection",
        "is_rejected",
        "is_unverified",
        "lines",
        "status",
        "verification",
        "verify_error",
        "waiter",
    )

    def __init__(self, context: OpenSslContext, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._context = context
        self.verification = context.verification
        self.status = context.status
        self._issuer: x509.Certificate | None = None
        self.lines: list[LogLine] = []
        self.verify_error = ""
        self.is_unverified = False
        self.is_rejected = False
        self._is_open = False
        self._has_finished = False
        self._has_input = False
        self.waiter: asyncio.Future[None] | None = None
        self._ended: tuple[asyncio.Future[None], Exception | None] | None = None
        self._loop_thread = get_ident()
        self.connection = SSL.Connection(context.context, None)
        self.connection.set_app_data(weakref.ref(self))  # so no cycle outlives a connection
        self.connection.set_accept_state()

    # ssl.SSLObject ------------------------------------------------------------------------------------
    def do_handshake(self) -> None:
        """Do what can be done of the first handshake; raise ssl.SSLWantReadError until it is complete."""
        self._run(self.connection.do_handshake)
        if self.is_resumed():
            self._judge_session()
        self._is_open = True

    def _judge_session(self) -> None:
        """Judge a resumed session by what its first handshake has found out about the certificate; raise
        ssl.SSLError if that does not suffice (ssl_io_filter_handshake).
        """
        errnum = lib.SSL_get_verify_result(self.connection._ssl)
        if not errnum:
            return
        if self.verification.accepts(errnum):
            self.is_unverified = True
            return
        text = f"SSL client authentication failed: {error_text(errnum)}"
        self.lines.append(LogLine("info", text, "AH02010", "ssl"))
        raise ssl.SSLError(text)

    def read(self, size: int = CHUNK, /) -> bytes:
        """Return decrypted bytes, b"" after close_notify."""
        try:
            return bytes(self._run(lambda: self.connection.recv(size)))
        except ssl.SSLZeroReturnError:
            return b""
        except ssl.SSLWantReadError:
            raise
        except ssl.SSLError as problem:
            self._fail(problem)
            raise

    def write(self, data: bytes | bytearray | memoryview, /) -> int:
        """Encrypt *data*."""
        view = memoryview(data)
        at = 0
        while at < len(view):
            at += self._run(lambda at=at: self.connection.send(view[at : at + PIECE]))  # type: ignore[misc]
        return at

    def pending(self) -> int:
        """Return the number of decrypted bytes that can be read, at least 1 if input was not looked at."""
        return self.connection.pending() or (1 if self._has_input else 0)

    def unwrap(self) -> None:
        """Send close_notify."""
        self._run(self.connection.shutdown)

    def _run(self, call: Callable[[], Any]) -> Any:
        data = self._incoming.read()
        if data:
            self.connection.bio_write(data)
            self._has_input = True
        try:
            return call()
        except SSL.WantReadError:
            self._has_input = False
            raise ssl.SSLWantReadError from None
        except SSL.ZeroReturnError:
            raise ssl.SSLZeroReturnError from None
        except SSL.Error as problem:
            reasons = problem.args[0] if problem.args and isinstance(problem.args[0], list) else []
            raise ssl.SSLError(str(reasons[-1][2]) if reasons else str(problem)) from None
        finally:
            self._drain()

    def _drain(self) -> None:
        try:
            while data := self.connection.bio_read(CHUNK):
                self._outgoing.write(data)
        except SSL.WantReadError:
            pass
        if self.is_rejected:
            self.is_rejected = False
            raise ssl.SSLError("no renegotiation")

    # facts --------------------------------------------------------------------------------------------
    def session_id(self) -> str:
        """Return the id of the session in hexadecimal digits."""
        session = lib.SSL_get_session(self.connection._ssl)
        if session == ffi.NULL:
            return ""
        size = lib.i2d_SSL_SESSION(session, ffi.NULL)
        if size <= 0:  # of a handshake that failed
            return ""
        data = ffi.new("unsigned char[]", size)
        lib.i2d_SSL_SESSION(session, ffi.new("unsigned char **", data))
        return _session_id(bytes(ffi.buffer(data, size)[:])).hex()

    def is_resumed(self) -> bool:
        """Return True if the session was resumed."""
        return bool(lib.SSL_session_reused(self.connection._ssl))

    def own_certificate(self) -> bytes:
        """Return the server's certificate in DER."""
        found = self.connection.get_certificate(as_cryptography=True)
        return b"" if found is None else der(found)

    def peer_certificates(self) -> list[bytes]:
        """Return the client's certificates in DER, its own first."""
        own = self.connection.get_peer_certificate(as_cryptography=True)
        if own is None:
            return []
        more = self.connection.get_peer_cert_chain(as_cryptography=True) or []
        return [der(own), *map(der, more)]

    # verification -------------------------------------------------------------------------------------
    def verify(self, certificate: crypto.X509, errnum: int, depth: int, ok: bool) -> bool:
        """Judge one certificate of a client (ssl_callback_SSLVerify); issuers come first."""
        check = self.verification
        if errnum and check.accepts(errnum):
            self.is_unverified = True
            ok = True
        if ok and self.status is not None:
            errnum = self._status_error(self.status, certificate.to_cryptography(), depth)
            ok = not errnum
        if not ok:
            self.verify_error = error_text(errnum)
            text = f"Certificate Verification: Error ({errnum}): {self.verify_error}"
            self.lines.append(LogLine("error", text, "AH02039", "ssl"))
        if depth > check.depth and not check.takes_any:
            text = (
                f"Certificate Verification: Certificate Chain too long (chain has {depth} certificates, "
                f"but maximum allowed are only {check.depth})"
            )
            self.lines.append(LogLine("error", text, "AH02040", "ssl"))
            self.verify_error = error_text(check.TOO_LONG)
            ok = False
        return ok

    def _status_error(self, status: ClientStatus, certificate: x509.Certificate, depth: int) -> int:
        """Return the error that the responder's status of a certificate means, 0 for none."""
        issuer, self._issuer = self._issuer, certificate
        if depth and status.is_leaf_only:
            return 0
        if self.is_unverified:
            text = (
                "cannot perform OCSP validation for cert if issuer has not been verified (optional_no_ca "
                "configured)"
            )
            self.lines.append(LogLine("error", text, "AH02038", "ssl"))
            return self.verification.UNDECIDED
        return status.error_of(certificate, issuer, self.lines)

    # further handshakes -------------------------------------------------------------------------------
    @property
    def is_tls13(self) -> bool:
        """True if the session has TLS 1.3, which has no renegotiation."""
        return self.connection.get_protocol_version() >= SSL.TLS1_3_VERSION

    def demand_certificate(self, verification: Verification, ciphers: str = "") -> asyncio.Future[None]:
        """Begin a further handshake in which the client shows a certificate, or offers the *ciphers* of a
        section; the result is resolved at its end.

        Raises:
            RenegotiationFailed: the client cannot do it.
            OSError, SSL.Error: see `OpenSslContext.variant`.
        """
        if ciphers and not self.is_tls13:
            self.connection.set_context(self._context.variant(ciphers).context)
        present, self.verification = self.verification, verification
        judged = self.verify_error, self.is_unverified
        self.verify_error = ""
        self.is_unverified = False
        # a client of TLS 1.3 is asked once: httpd refuses whom a handshake has asked for less
        once = SSL.VERIFY_CLIENT_ONCE if self.is_tls13 else 0
        self._set_verify(mode_of(verification) | once)
        if self.is_tls13:
            if lib.SSL_verify_client_post_handshake(self.connection._ssl) != 1:
                lib.ERR_clear_error()
                self.verification = present  # the next request of the connection is refused, too
                self.verify_error, self.is_unverified = judged  # of the certificate that the client has shown
                self._set_verify(mode_of(present))
                raise RenegotiationFailed
        else:
            self.connection.renegotiate()
        waiter = asyncio.get_running_loop().create_future()
        self.waiter = waiter
        try:
            self._run(self.connection.do_handshake)
        except ssl.SSLWantReadError:
            pass
        return waiter

    def _set_verify(self, mode: int) -> None:
        lib.SSL_set_verify(self.connection._ssl, mode, _verified)

    def handshake_changed(self, where: int) -> None:
        """Note the begin or the end of a handshake."""
        waiter = self.waiter
        if where & SSL.SSL_CB_HANDSHAKE_START and self._is_open and waiter is None and not self.is_tls13:
            self.is_rejected = True
            self.lines.append(LogLine("error", "rejecting client initiated renegotiation", "AH02042", "ssl"))
        if waiter is not None and self._is_complete(where):
            self.waiter = None
            self._has_finished = False
            self._resolve_later(waiter, None)

    def _is_complete(self, where: int) -> bool:
        """Return True at the end of a further handshake; that of TLS 1.3 ends with the client's Finished."""
        if not self.is_tls13:
            return bool(where & SSL.SSL_CB_HANDSHAKE_DONE) and not self.connection.renegotiate_pending()
        if b"read finished" in self.connection.get_state_string():
            self._has_finished = True
        return self._has_finished and where == SSL.SSL_CB_ACCEPT_EXIT

    def _fail(self, problem: Exception) -> None:
        waiter, self.waiter = self.waiter, None
        if waiter is not None:
            self._resolve_later(waiter, RenegotiationFailed(*problem.args))

    def _resolve_later(self, waiter: asyncio.Future[None], failure: Exception | None) -> None:
        """Resolve *waiter* after this step. A step in a thread leaves that to `resolve_waiter`: the request
        must not write before the thread has returned.
        """
        self._ended = waiter, failure
        if get_ident() == self._loop_thread:
            waiter.get_loop().call_soon(self.resolve_waiter)

    def resolve_waiter(self) -> None:
        """Resolve the waiter of a handshake that the last step has ended."""
        ended, self._ended = self._ended, None
        if ended is not None:
            _resolve(*ended)


def _resolve(waiter: asyncio.Future[None], failure: Exception | None) -> None:
    """Resolve *waiter*, whose request may have been cancelled."""
    if waiter.done():
        return
    if failure is None:
        waiter.set_result(None)
    else:
        waiter.set_exception(failure)


def _session_id(encoded: bytes) -> bytes:
    """Return the id of a session: the fourth value of its ASN.1 sequence, each shorter than 128 bytes."""
    at = 2 + (encoded[1] & 0x7F if encoded[1] & 0x80 else 0)
    for _ in range(3):
        at += 2 + encoded[at + 1]
    return encoded[at + 2 : at + 2 + encoded[at + 1]]


def mode_of(verification: Verification) -> int:
    """Return the flags of SSLVerifyClient."""
    if not verification.wants:
        return SSL.VERIFY_NONE
    return SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT if verification.requires else SSL.VERIFY_PEER


@ffi.callback("int (*)(int, X509_STORE_CTX *)", error=0)  # type: ignore[untyped-decorator]
def _verified(ok: int, store: Any) -> int:
    """Judge the certificate that *store* is at (SSL_CTX_set_verify); 0, also after an exception, refuses it.

    The callbacks of pyOpenSSL clear the error of an accepted certificate, and a resumed session would pass as
    verified: sessions keep the error, not the verdict.
    """
    handle = lib.X509_STORE_CTX_get_ex_data(store, lib.SSL_get_ex_data_X509_STORE_CTX_idx())
    owner = SSL.Connection._reverse_mapping[handle].get_app_data()()
    if owner is None:
        return 0
    errnum = lib.X509_STORE_CTX_get_error(store)
    if not ok and errnum == Verification.NO_CRL and owner.verification.crl_may_miss:
        errnum = 0
        lib.X509_STORE_CTX_set_error(store, errnum)
        ok = 1
    present = lib.X509_STORE_CTX_get_current_cert(store)
    lib.X509_up_ref(present)
    certificate = crypto.X509._from_raw_x509_ptr(present)
    depth = lib.X509_STORE_CTX_get_error_depth(store)
    return 1 if owner.verify(certificate, errnum, depth, bool(ok)) else 0


def _stapled(connection: SSL.Connection, stapling: Any) -> bytes:
    owner = connection.get_app_data()()
    own = connection.get_certificate(as_cryptography=True)
    if owner is None or own is None:
        return b""
    return bytes(stapling.response(der(own), owner.lines))


def _changed(connection: SSL.Connection, where: int, _value: int) -> None:
    data = connection.get_app_data()  # None while the connection is made
    owner = None if data is None else data()
    if owner is not None:
        owner.handshake_changed(where)


def der(certificate: x509.Certificate) -> bytes:
    """Return a certificate in DER."""
    return certificate.public_bytes(Encoding.DER)
