"""TLS to back ends: the parameters of a connection, and the checks after its handshake (ssl_engine_io.c).

The provider ("ssl", "proxy") is a function that returns a `BackendTls`.
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from whimbrel.base.dialect import Dialect
from whimbrel.base.net import InvalidNetwork, parse_written
from whimbrel.base.numbers import lower
from whimbrel.engine.log.error_log_line import LogLine
from whimbrel.engine.tls import BackendTlsParameters
from whimbrel.modules.ssl.mod_ssl.settings import (
    CRL_LEAF,
    CRL_NONE,
    VERIFY_NO_CA,
    VERIFY_NONE,
    SslProxyDirConfig,
)

if TYPE_CHECKING:
    from cryptography import x509

    from whimbrel.engine.request import Request
    from whimbrel.modules.ssl.mod_ssl.backend_contexts import BackendContext

MODULE: Final = "ssl"
CERT_REVOKED: Final = 23  # X509_V_ERR_CERT_REVOKED
_NOT_ENABLED: Final = "failed to enable ssl support [Hint: if using mod_ssl, see SSLProxyEngine]"


class Problem(NamedTuple):
    """Why a certificate is refused: a line of the error log."""

    level: str
    code: str
    text: str


class BackendTls:
    """The interface of mod_ssl to mod_proxy."""

    def parameters(
        self, r: Request, host: str, address: str, protocol: str = ""
    ) -> BackendTlsParameters | None:
        """Return the parameters of a connection for *r* to *host*, the name that the certificate must have.

        None where SSLProxyEngine is off, which is logged: the answer is 500. *address* is ``IP:PORT``.
        *protocol* is offered by ALPN.
        """
        conf = r.dir_config(SslProxyDirConfig)
        if not conf.engine:
            _log_disabled(r, address)
            return None
        return BackendTlsParameters(self._context(r, conf, protocol).context, server_name(host), host)

    def _context(self, r: Request, conf: SslProxyDirConfig, protocol: str = "") -> BackendContext:
        from whimbrel.modules.ssl.mod_ssl.backend_contexts import contexts_of, key_of, make

        configuration = r.engine.configuration
        contexts = contexts_of(configuration)
        key = key_of(conf)
        if protocol:
            key = (*key, protocol)
        found = contexts.get(key)
        if found is None:
            found = make(configuration.dialect, conf, [])
            contexts[key] = found
            if protocol:
                found.context.set_alpn_protocols([protocol])
        return found

    def demands(self, r: Request) -> str:
        """Return what a back end of *r* must fulfil; see `demands`."""
        return demands(r.plan.dialect, r.dir_config(SslProxyDirConfig))

    def check(self, r: Request, host: str, peer: Any, address: str) -> bool:
        """Return True if the certificate of a new connection is acceptable; log why it is not.

        *peer* is the transport's ``ssl_object``; *address* is ``IP:PORT``, for the log.
        """
        from whimbrel.modules.ssl.mod_ssl.certificates import parse

        conf = r.dir_config(SslProxyDirConfig)
        dialect = r.plan.dialect
        der = peer.getpeercert(binary_form=True)
        certificate = None if der is None else parse(der)
        chain = [parse(one) for one in chain_of(peer)]
        found = self._context(r, conf)
        problems = refusals(dialect, conf, certificate, host, r.engine.runtime.now())
        if conf.verify != VERIFY_NONE:
            problems += chain_refusals(conf, chain, found)
        for problem in problems:
            _log(r, problem, address)
        return not problems

    def failed(self, r: Request, problem: BaseException, address: str) -> None:
        """Log why a handshake failed."""
        if isinstance(problem, ssl.SSLCertVerificationError):
            text = f"Certificate Verification: Error ({problem.verify_code}): {problem.verify_message}"
            _log(r, Problem("error", "AH02039", text), address)
        else:
            _log(r, Problem("info", "AH02003", f"SSL Proxy connect failed: {problem}"), address)


def _log(r: Request, problem: Problem, address: str, module: str = MODULE) -> None:
    """Write a line about the connection to *address*, which 2.2 calls its client."""
    if r.plan.dialect.messages_24:
        text = f"[remote {address}] {problem.code}: {problem.text}"
    else:
        text = f"[client {address.rpartition(':')[0]}] {problem.text}"
    r.engine.error_log.about_server(r.server, LogLine(problem.level, text, "", module, ""))


def _log_disabled(r: Request, address: str) -> None:
    if r.plan.dialect.messages_24:
        _log(r, Problem("error", "AH01961", f" {_NOT_ENABLED}"), address, "core")
    else:
        server = f"{r.server.name}:{r.server.port or 80}"
        text = f"SSL Proxy requested for {server} but not enabled [Hint: SSLProxyEngine]"
        _log(r, Problem("error", "", text), address)


def server_name(host: str) -> str:
    """Return the name to indicate (SNI): "" for an IP address, and for what cannot be a name."""
    from encodings.idna import Codec

    try:
        parse_written(host)
    except InvalidNetwork:
        pass
    else:
        return ""
    try:
        Codec().encode(host)
    except UnicodeError:
        return ""
    return host


def chain_of(peer: object) -> Sequence[bytes]:
    """Return the certificates of the verified chain in DER, the peer's own first; () without one."""
    if hasattr(peer, "get_verified_chain"):  # Python 3.13
        return tuple(peer.get_verified_chain() or ())
    inner = getattr(peer, "_sslobj", None)
    found = inner.get_verified_chain() if inner is not None else None
    return tuple(ssl.PEM_cert_to_DER_cert(one.public_bytes()) for one in found or ())


# checks -------------------------------------------------------------------------------------------
class NameCheck(Enum):
    """What must be the host of the URL."""

    NOTHING = "no name"
    COMMON_NAME = "common name"
    ALL_NAMES = "alternative names or common name"


def checks_expiry(dialect: Dialect, conf: SslProxyDirConfig) -> bool:
    """Return True if the certificate must not have expired; by default in 2.4 (SSLProxyCheckPeerExpire)."""
    return conf.check_expire if conf.check_expire is not None else not dialect.peer_checks_22


def name_check(dialect: Dialect, conf: SslProxyDirConfig) -> NameCheck:
    """Return which names are compared (SSLProxyCheckPeerName, SSLProxyCheckPeerCN)."""
    by_default = conf.check_name is not False and (conf.check_cn is not False or conf.check_name)
    if by_default and not dialect.peer_checks_22:
        return NameCheck.ALL_NAMES
    return NameCheck.COMMON_NAME if conf.check_cn is True else NameCheck.NOTHING


def demands(dialect: Dialect, conf: SslProxyDirConfig) -> str:
    """Return what a back end's certificate and connection must fulfil, as a text to compare."""
    if not conf.engine:
        return "SSLProxyEngine is off"
    found = ["not expired"] if checks_expiry(dialect, conf) else []
    names = name_check(dialect, conf)
    if names is not NameCheck.NOTHING:
        found.append(f"host is {names.value}")
    if conf.verify != VERIFY_NONE:
        authorities = " ".join(filter(None, (conf.ca_file, conf.ca_path)))
        found.append(f"chain {conf.verify} to {authorities or 'no authority'}, depth {conf.depth}")
        lists = " ".join(filter(None, (conf.crl_file, conf.crl_path)))
        if conf.crl_check != CRL_NONE:
            found.append(f"revocation {conf.crl_check} by {lists or 'no list'}")
    if conf.protocols is not None:
        found.append(f"protocols {' '.join(sorted(conf.protocols))}")
    if conf.ciphers or conf.tls13_ciphers:
        found.append(f"ciphers {conf.ciphers} {conf.tls13_ciphers}".rstrip(" "))
    own = " ".join(filter(None, (conf.certificate_file, conf.certificate_path)))
    if own:
        found.append(f"own certificate {own}")
    return "; ".join(found) or "nothing"


def refusals(
    dialect: Dialect, conf: SslProxyDirConfig, certificate: x509.Certificate | None, host: str, now: float
) -> list[Problem]:
    """Return what SSLProxyCheckPeer* refuse of a certificate (ssl_io_filter_handshake)."""
    from whimbrel.modules.ssl.mod_ssl.certificates import is_current, matches_name

    old = dialect.peer_checks_22
    problems = []
    if checks_expiry(dialect, conf) and (certificate is None or not is_current(certificate, now)):
        problems.append(Problem("info", "AH02004", "SSL Proxy: Peer certificate is expired"))
        if old:
            return problems
    if not host:
        return problems
    checked = name_check(dialect, conf)
    if checked is NameCheck.ALL_NAMES:
        if certificate is None or not matches_name(certificate, host):
            text = f"SSL Proxy: Peer certificate does not match for hostname {host}"
            problems.append(Problem("info", "AH02411", text))
    elif checked is NameCheck.COMMON_NAME:
        name = _common_name(certificate)
        if not _is_named(name, host, takes_wildcard=not old):
            names = f"Certificate CN: {name} Requested hostname: {host}"
            problems.append(Problem("info", "AH02005", f"SSL Proxy: Peer certificate CN mismatch: {names}"))
    return problems


def _common_name(certificate: x509.Certificate | None) -> str:
    from whimbrel.modules.ssl.mod_ssl.certificate_names import common_names

    names = [] if certificate is None else common_names(certificate.subject)
    return names[0] if names else ""


def _is_named(name: str, host: str, *, takes_wildcard: bool) -> bool:
    low = lower(name)
    wanted = lower(host)
    if low == wanted:
        return True
    _, dot, rest = wanted.partition(".")
    return takes_wildcard and low.startswith("*.") and dot + rest == low[1:]


def chain_refusals(
    conf: SslProxyDirConfig, chain: Sequence[x509.Certificate], found: BackendContext
) -> list[Problem]:
    """Return what SSLProxyVerifyDepth and revocation lists refuse of a chain (ssl_callback_SSLVerify)."""
    problems = []
    if found.crl_check != CRL_NONE:
        checked = chain[:1] if found.crl_check == CRL_LEAF else chain
        if any(is_revoked(certificate, found.crls) for certificate in checked):
            text = f"Certificate Verification: Error ({CERT_REVOKED}): certificate revoked"
            problems.append(Problem("error", "AH02039", text))
    depth = len(chain) - 1
    if depth > conf.depth and conf.verify != VERIFY_NO_CA:
        text = (
            f"Certificate Verification: Certificate Chain too long (chain has {depth} certificates, but "
            f"maximum allowed are only {conf.depth})"
        )
        problems.append(Problem("error", "AH02040", text))
    return problems


def is_revoked(certificate: x509.Certificate, crls: Sequence[x509.CertificateRevocationList]) -> bool:
    """Return True if a list of the certificate's issuer has its serial number."""
    return any(
        crl.issuer == certificate.issuer
        and crl.get_revoked_certificate_by_serial_number(certificate.serial_number) is not None
        for crl in crls
    )


BACKEND_TLS: Final = BackendTls()
