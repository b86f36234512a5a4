"""What a start checks of the settings of one TLS context, in the order of ssl_init_ctx."""

from __future__ import annotations

import os
import ssl
from typing import Final

from whimbrel.base.dialect import Dialect
from whimbrel.base.latin1 import to_bytes
from whimbrel.modules.ssl.mod_ssl.key_files import certificates, read
from whimbrel.modules.ssl.mod_ssl.settings import (
    CRL_NONE,
    DEFAULT_CIPHERS,
    VERIFY_REQUIRE,
    SslProxyDirConfig,
    SslServerConfig,
)
from whimbrel.modules.ssl.mod_ssl.start_messages import (
    NO_CIPHER,
    NOTHING_FOUND,
    Line,
    StartFailure,
    failure,
    library_error,
)

TLS13_CIPHERS: Final = frozenset(
    """TLS_AES_128_GCM_SHA256 TLS_AES_256_GCM_SHA384 TLS_CHACHA20_POLY1305_SHA256 TLS_AES_128_CCM_SHA256
    TLS_AES_128_CCM_8_SHA256""".split()
)


def check_context(
    dialect: Dialect, conf: SslServerConfig | SslProxyDirConfig, host: str, names: tuple[str, str] = ("", "")
) -> list[Line]:
    """Return the warnings about protocols, authorities, ciphers and revocation lists; raises StartFailure.

    *host* is ``name:port``; *names* are SSLCADNRequestFile and -Path.
    """
    if conf.protocols is not None and not conf.protocols:
        raise failure(dialect, "AH02231", "No SSL protocols available [hint: SSLProtocol]")
    lines = _check_authorities(dialect, conf, names)
    _check_ciphers(dialect, conf)
    return lines + _check_revocation(dialect, conf, host)


def new_context(purpose: int) -> ssl.SSLContext:
    """Return an empty context of the protocol family *purpose*."""
    return ssl.SSLContext(purpose)


def files_of(path: str) -> list[str]:
    """Return the files of a directory, in its own order; raises OSError."""
    with os.scandir(to_bytes(path)) as entries:
        return [entry.path.decode("latin-1") for entry in entries if not entry.is_dir()]


def _load_authorities(conf: SslServerConfig | SslProxyDirConfig) -> bool:
    """Return True if the library can load the authorities."""
    context = new_context(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if conf.ca_file:
            context.load_verify_locations(cafile=to_bytes(conf.ca_file))
        if conf.ca_path:
            context.load_verify_locations(capath=to_bytes(conf.ca_path))
    except (ssl.SSLError, OSError):
        return False
    return True


def _has_names(file: str, path: str) -> bool:
    """Return True if there is a certificate whose name can be sent to clients (ssl_init_FindCAList)."""
    try:
        listed = ([file] if file else []) + (files_of(path) if path else [])
        return any(certificates(read(one)) for one in listed)
    except OSError:
        return False


def _check_authorities(
    dialect: Dialect, conf: SslServerConfig | SslProxyDirConfig, names: tuple[str, str]
) -> list[Line]:
    has_names = False
    if conf.ca_file or conf.ca_path:
        if not _load_authorities(conf):
            text = "Unable to configure verify locations for client authentication"
            raise failure(dialect, "AH01895", text, NOTHING_FOUND)
        file, path = names if any(names) else (conf.ca_file, conf.ca_path)
        has_names = _has_names(file, path)
        if not has_names:
            raise _nameless(dialect, file)
    if conf.verify != VERIFY_REQUIRE or has_names:
        return []
    text = (
        "Init: Oops, you want to request client authentication, but no CAs are known for verification!?  "
        "[Hint: SSLCACertificate*]"
    )
    return [Line("warn", "AH01897", text)]


def _nameless(dialect: Dialect, file: str) -> StartFailure:
    text = "Unable to determine list of acceptable CA certificates for client authentication"
    problem = failure(dialect, "AH01896", text)
    if not file or not dialect.messages_24:
        return problem
    first = Line("error", "AH02210", f"Failed to load SSLCACertificateFile: {file}")
    return StartFailure(first, library_error(dialect, NOTHING_FOUND, "error"), *problem.lines)


def _check_ciphers(dialect: Dialect, conf: SslServerConfig | SslProxyDirConfig) -> None:
    try:
        new_context(ssl.PROTOCOL_TLS_CLIENT).set_ciphers(conf.ciphers or DEFAULT_CIPHERS)
    except ssl.SSLError:
        raise failure(dialect, "AH01898", "Unable to configure permitted SSL ciphers", NO_CIPHER) from None
    if conf.tls13_ciphers and TLS13_CIPHERS.isdisjoint(conf.tls13_ciphers.split(":")):
        raise failure(dialect, "AH10127", "Unable to configure permitted TLSv1.3 ciphers", NO_CIPHER)


def _check_revocation(dialect: Dialect, conf: SslServerConfig | SslProxyDirConfig, host: str) -> list[Line]:
    prefix = "SSLProxy" if isinstance(conf, SslProxyDirConfig) else "SSL"
    if not (conf.crl_file or conf.crl_path):
        if conf.crl_check != CRL_NONE:
            text = (
                f"Host {host}: CRL checking has been enabled, but neither {prefix}CARevocationFile nor "
                f"{prefix}CARevocationPath is configured"
            )
            raise failure(dialect, "AH01899", text)
        return []
    try:
        if conf.crl_file:
            new_context(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=to_bytes(conf.crl_file))
    except (ssl.SSLError, OSError):
        text = "configure X.509 CRL storage for certificate revocation"
        shown = f"Host {host}: unable to {text}" if dialect.messages_24 else f"Unable to {text}"
        raise failure(dialect, "AH01901", shown, NOTHING_FOUND) from None
    if dialect.revocation_always or conf.crl_check != CRL_NONE:
        return []
    text = (
        f"Host {host}: X.509 CRL storage locations configured, but CRL checking "
        f"({prefix}CARevocationCheck) is not enabled"
    )
    return [Line("warn", "AH01902", text)]
