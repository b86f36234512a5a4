"""The variables of mod_ssl, ``SSL_...`` and those that 2.2's SSLRequire and %{...}x know (ssl_engine_vars.c).

Names are case-insensitive, except attributes of certificates (``SSL_CLIENT_S_DN_CN``).
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterator
from typing import Final

from whimbrel import __version__
from whimbrel.base.latin1 import from_system, to_bytes
from whimbrel.base.numbers import decimal, is_digits, lower, upper
from whimbrel.engine.expressions import RequestView
from whimbrel.engine.request import Request
from whimbrel.engine.tls import TlsSession
from whimbrel.expr.evaluation import Evaluation
from whimbrel.expr.variables import VARIABLES
from whimbrel.http.syntax.url import escape_logitem
from whimbrel.modules.ssl.mod_ssl.compatibility import differs_in_trust
from whimbrel.modules.ssl.mod_ssl.settings import SslServerConfig

VERIFY_NONE_TEXT = "NONE"
VERIFY_SUCCESS = "SUCCESS"
VERIFY_GENEROUS = "GENEROUS"
MAX_DIGITS: Final = 4  # of a number in a name
LIBRARY: Final = "/".join(ssl.OPENSSL_VERSION.split(" ")[:2])
EXPORT_BITS: Final = 56  # secret bits below which a cipher is one for export
INTERFACE: Final = f"mod_ssl/{__version__}"
# the variables of StdEnvVars, without the single attributes of names
_STANDARD: Final = """SSL_VERSION_INTERFACE SSL_VERSION_LIBRARY SSL_PROTOCOL SSL_SECURE_RENEG
    SSL_COMPRESS_METHOD SSL_CIPHER SSL_CIPHER_EXPORT SSL_CIPHER_USEKEYSIZE SSL_CIPHER_ALGKEYSIZE
    SSL_CLIENT_VERIFY SSL_CLIENT_M_VERSION SSL_CLIENT_M_SERIAL SSL_CLIENT_V_START SSL_CLIENT_V_END
    SSL_CLIENT_V_REMAIN SSL_CLIENT_S_DN SSL_CLIENT_I_DN SSL_CLIENT_A_KEY SSL_CLIENT_A_SIG
    SSL_CLIENT_CERT_RFC4523_CEA SSL_SERVER_M_VERSION SSL_SERVER_M_SERIAL SSL_SERVER_V_START SSL_SERVER_V_END
    SSL_SERVER_S_DN SSL_SERVER_I_DN SSL_SERVER_A_KEY SSL_SERVER_A_SIG SSL_SESSION_ID
    SSL_SESSION_RESUMED""".split()
_ADDED_IN_24: Final = frozenset({"SSL_CLIENT_CERT_RFC4523_CEA", "SSL_SESSION_RESUMED"})
# names of requests that 2.2 and the log know besides those of mod_ssl
_OF_REQUESTS: Final = frozenset(
    """HTTP_ACCEPT HTTP_USER_AGENT HTTP_REFERER HTTP_COOKIE HTTP_FORWARDED HTTP_HOST HTTP_PROXY_CONNECTION
    THE_REQUEST REQUEST_FILENAME REQUEST_METHOD REQUEST_SCHEME REQUEST_URI SCRIPT_FILENAME PATH_INFO
    QUERY_STRING REMOTE_HOST REMOTE_IDENT IS_SUBREQ DOCUMENT_ROOT SERVER_ADMIN SERVER_NAME SERVER_PORT
    SERVER_PROTOCOL REMOTE_USER AUTH_TYPE REMOTE_ADDR SERVER_SOFTWARE API_VERSION TIME_YEAR TIME_MON TIME_DAY
    TIME_HOUR TIME_MIN TIME_SEC TIME_WDAY TIME""".split()
)


def session_of(r: Request) -> TlsSession | None:
    """Return the TLS session of the request's connection; the response then depends on it."""
    tls: TlsSession | None = r.connection.tls
    if tls is not None:
        r.set_uncacheable()
    return tls


def lookup(r: Request, name: str) -> str:
    """Return the value of any variable, "" for an unknown one (ssl_var_lookup)."""
    known = upper(name)
    if known == "HTTPS":
        return "on" if r.connection.tls is not None else "off"
    if known.startswith("SSL_"):
        return of_tls(r, name)
    if known.startswith("HTTP:"):
        return r.headers_in.get(name[5:]) or ""
    if known.startswith("ENV:"):
        value = os.environ.get(os.fsdecode(to_bytes(name[4:])))
        return "" if value is None else from_system(value)
    if known in _OF_REQUESTS:
        return VARIABLES[known].read(Evaluation(RequestView(r, "ssl"))) or ""
    return ""


def of_tls(r: Request, name: str) -> str:
    """Return the value of ``SSL_...``; "" for unknown names, and without TLS except the versions."""
    known = upper(name)
    is_24 = r.plan.dialect.messages_24
    if known == "SSL_VERSION_INTERFACE":
        return INTERFACE
    if known == "SSL_VERSION_LIBRARY":
        return LIBRARY
    if known == "SSL_VERSION_LIBRARY_INTERFACE" and is_24:
        return LIBRARY
    tls = session_of(r)
    if tls is None:
        return ""
    if known == "SSL_CLIENT_VERIFY":
        return verified(r, tls)
    read = _OF_SESSION.get(known)
    if read is not None:
        return "" if known in _ADDED_IN_24 and not is_24 else read(tls)
    if known.startswith("SSL_CLIENT_CERT_CHAIN_"):
        return _chain(tls, name[22:])
    if known.startswith("SSL_CLIENT_"):
        der = tls.peer_certificate
        return _of_certificate(r, der, name[11:]) if der else ""
    if tls.certificate and known.startswith("SSL_SERVER_"):
        return _of_certificate(r, tls.certificate, name[11:])
    return ""


def verified(r: Request, tls: TlsSession) -> str:
    """Return the value of SSL_CLIENT_VERIFY."""
    if tls.verify_error:
        return f"FAILED:{tls.verify_error}"
    if tls.is_unverified:
        return VERIFY_GENEROUS
    if tls.peer_certificate is None:
        return VERIFY_NONE_TEXT
    return VERIFY_GENEROUS if _is_of_other_authority(r, tls) else VERIFY_SUCCESS


def _is_of_other_authority(r: Request, tls: TlsSession) -> bool:
    """Return True if the handshake was with a server of other authorities than those of the request's."""
    if r.server is tls.server:
        return False
    handshake = tls.server.config(SslServerConfig)
    request = r.server_conf(SslServerConfig)
    return differs_in_trust(handshake, request)


_OF_SESSION: Final[dict[str, Callable[[TlsSession], str]]] = {
    "SSL_PROTOCOL": lambda tls: tls.version,
    "SSL_SESSION_ID": lambda tls: tls.session_id,
    "SSL_SESSION_RESUMED": lambda tls: "Resumed" if tls.is_resumed else "Initial",
    "SSL_CIPHER": lambda tls: tls.cipher,
    "SSL_CIPHER_EXPORT": lambda tls: "true" if tls.used_bits < EXPORT_BITS else "false",
    "SSL_CIPHER_USEKEYSIZE": lambda tls: str(tls.used_bits),
    "SSL_CIPHER_ALGKEYSIZE": lambda tls: str(tls.algorithm_bits),
    "SSL_COMPRESS_METHOD": lambda tls: tls.compression,
    "SSL_TLS_SNI": lambda tls: tls.server_name,
    "SSL_SECURE_RENEG": lambda tls: "true" if tls.has_secure_renegotiation else "false",
}


# certificates -------------------------------------------------------------------------------------
def pem(der: bytes) -> str:
    """Return a certificate between its lines of dashes."""
    return ssl.DER_cert_to_PEM_cert(der)


def _chain(tls: TlsSession, number: str) -> str:
    if not is_digits(number) or len(number) > MAX_DIGITS:
        return ""
    index = decimal(number)
    return pem(tls.peer_chain[index]) if index < len(tls.peer_chain) else ""


def _of_certificate(r: Request, der: bytes, name: str) -> str:
    """Return what *name* says about a certificate: ``S_DN_CN``, ``V_END`` ..."""
    if upper(name) == "CERT":
        return pem(der)
    from whimbrel.modules.ssl.mod_ssl.certificate_variables import value  # needs an optional library

    return value(r, der, name)


def standard_variables(r: Request, tls: TlsSession) -> Iterator[tuple[str, str]]:
    """Yield the variables of SSLOptions +StdEnvVars, without empty ones."""
    from whimbrel.modules.ssl.mod_ssl.certificate_variables import exported

    yield from exported(tls, is_24=r.plan.dialect.messages_24)
    for variable in _STANDARD:
        value = of_tls(r, variable)
        if value:
            yield variable, value


def certificate_variables(tls: TlsSession) -> Iterator[tuple[str, str]]:
    """Yield the variables of SSLOptions +ExportCertData."""
    yield "SSL_SERVER_CERT", pem(tls.certificate) if tls.certificate else ""
    yield "SSL_CLIENT_CERT", pem(tls.peer_certificate) if tls.peer_certificate else ""
    for index, der in enumerate(tls.peer_chain):
        yield f"SSL_CLIENT_CERT_CHAIN_{index}", pem(der)


# the log ------------------------------------------------------------------------------------------
_OF_LOG: Final = {
    "version": "SSL_PROTOCOL",
    "cipher": "SSL_CIPHER",
    "subjectdn": "SSL_CLIENT_S_DN",
    "clientcert": "SSL_CLIENT_S_DN",
    "issuerdn": "SSL_CLIENT_I_DN",
    "cacert": "SSL_CLIENT_I_DN",
}


def log_variable(r: Request, name: str) -> str | None:
    """Return ``%{NAME}x``, None for an empty one; 2.4 escapes it for the log."""
    value = lookup(r, name)
    return (escape_logitem(value) if r.plan.dialect.messages_24 else value) or None


def log_of_connection(r: Request, name: str) -> str | None:
    """Return ``%{NAME}c``: the names of mod_ssl for Apache 1.3; None without TLS."""
    tls = session_of(r)
    if tls is None:
        return None
    known = lower(name)
    if known == "errcode":
        return "-"
    if known == "errstr":
        return tls.verify_error or None
    variable = _OF_LOG.get(known)
    value = of_tls(r, variable) if variable else ""
    return (escape_logitem(value) if r.plan.dialect.messages_24 else value) or None
