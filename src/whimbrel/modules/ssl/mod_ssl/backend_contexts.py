"""TLS contexts of connections to back ends, one for each distinct merged settings, made in the master.

Their files may be readable by root only.  A combination of <Proxy> sections that no start foresees gets its
context at its first request.
"""

from __future__ import annotations

import os
import ssl
from typing import Any, Final

from cryptography import x509

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.dialect import Dialect
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass, fields
from whimbrel.config.configuration import Configuration
from whimbrel.modules.ssl.mod_ssl.context_checks import check_context, files_of
from whimbrel.modules.ssl.mod_ssl.key_files import (
    EncryptedKey,
    KeyPair,
    NoKey,
    belongs,
    certificates,
    pair,
    private_key,
    read,
    revocation_lists,
)
from whimbrel.modules.ssl.mod_ssl.settings import (
    CRL_CHAIN,
    CRL_LEAF,
    CRL_NONE,
    DEFAULT_CIPHERS,
    VERIFY_NO_CA,
    VERIFY_NONE,
    SslProxyDirConfig,
)
from whimbrel.modules.ssl.mod_ssl.start_messages import MISMATCH, Line, StartFailure, failure

CONTEXTS: Final = "backend_contexts"  # name of the provider of the group "ssl"
MAX_CONTEXTS: Final = 256
_VERSIONS: Final = (
    ("TLSv1", ssl.TLSVersion.MINIMUM_SUPPORTED, ssl.OP_NO_TLSv1),
    ("TLSv1.1", ssl.TLSVersion.TLSv1_1, ssl.OP_NO_TLSv1_1),
    ("TLSv1.2", ssl.TLSVersion.TLSv1_2, ssl.OP_NO_TLSv1_2),
    ("TLSv1.3", ssl.TLSVersion.TLSv1_3, ssl.OP_NO_TLSv1_3),
)


@dataclass(frozen=True, slots=True)
class BackendContext:
    """The context of one merged settings.

    Attributes:
        context: for `Runtime.connect`.
        crls: revocation lists that the library does not check: certificates without a list are accepted.
        crl_check: "none", "leaf" or "chain": what is checked with *crls*.
    """

    context: ssl.SSLContext
    crls: tuple[x509.CertificateRevocationList, ...] = ()
    crl_check: str = CRL_NONE


Contexts = BoundedDict[tuple[Any, ...], BackendContext]


def key_of(conf: SslProxyDirConfig) -> tuple[Any, ...]:
    """Return the settings as a key."""
    return tuple(getattr(conf, each.name) for each in fields(SslProxyDirConfig))


def prepare(
    configuration: Configuration, confs: list[SslProxyDirConfig], host: str, lines: list[Line]
) -> None:
    """Check settings and make their contexts; append warnings to *lines*.  Raises StartFailure."""
    contexts = contexts_of(configuration)
    for conf in confs:
        key = key_of(conf)
        if key not in contexts:
            lines += check_context(configuration.dialect, conf, host)
            contexts[key] = make(configuration.dialect, conf, lines)


def contexts_of(configuration: Configuration) -> Contexts:
    """Return the contexts of the configuration, by `key_of`."""
    found: Contexts | None = configuration.provider("ssl", CONTEXTS)
    if found is None:
        found = Contexts(MAX_CONTEXTS)
        configuration.modules.register_provider("ssl", CONTEXTS, found)
    return found


def make(dialect: Dialect, conf: SslProxyDirConfig, lines: list[Line]) -> BackendContext:
    """Return the context of *conf*; raises StartFailure, OSError or ssl.SSLError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False  # `backends` compares names as httpd does
    context.post_handshake_auth = True  # back ends may ask for a certificate later
    set_protocols(context, conf.protocols)
    context.set_ciphers(conf.ciphers or DEFAULT_CIPHERS)
    if conf.verify in (VERIFY_NONE, VERIFY_NO_CA):
        context.verify_mode = ssl.CERT_NONE
    if conf.ca_file:
        context.load_verify_locations(cafile=to_bytes(conf.ca_file))
    if conf.ca_path:
        context.load_verify_locations(capath=to_bytes(conf.ca_path))
    own = client_certificate(dialect, conf, lines)
    if own is not None:
        load(context, own)
    return _with_revocation(dialect, conf, context)


def set_protocols(context: ssl.SSLContext, protocols: frozenset[str] | None) -> None:
    """Enable exactly the protocols of SSLProtocol or SSLProxyProtocol."""
    known = [row for row in _VERSIONS if protocols is None or row[0] in protocols]
    if not known:
        return  # SSLv2 and SSLv3, which no library has
    context.minimum_version = known[0][1]
    context.maximum_version = known[-1][1]
    for name, _version, option in _VERSIONS:
        if protocols is not None and name not in protocols:
            context.options |= option


def _with_revocation(dialect: Dialect, conf: SslProxyDirConfig, context: ssl.SSLContext) -> BackendContext:
    """Return *context* with revocation lists; the library refuses certificates without one."""
    check = conf.crl_check
    may_miss = conf.crl_may_miss
    if dialect.revocation_always and (conf.crl_file or conf.crl_path):
        check = CRL_CHAIN
        may_miss = True
    if check == CRL_NONE or conf.verify == VERIFY_NONE:
        return BackendContext(context)
    if may_miss:
        files = ([conf.crl_file] if conf.crl_file else []) + (
            files_of(conf.crl_path) if conf.crl_path else []
        )
        lists = tuple(one for file in files for one in _lists(file))
        return BackendContext(context, lists, check)
    if conf.crl_file:
        context.load_verify_locations(cafile=to_bytes(conf.crl_file))
    if conf.crl_path:
        context.load_verify_locations(capath=to_bytes(conf.crl_path))
    context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF if check == CRL_LEAF else ssl.VERIFY_CRL_CHECK_CHAIN
    return BackendContext(context)


def _lists(file: str) -> list[x509.CertificateRevocationList]:
    try:
        return revocation_lists(read(file))
    except (OSError, ValueError):
        return []


# client certificates ------------------------------------------------------------------------------
def client_certificate(dialect: Dialect, conf: SslProxyDirConfig, lines: list[Line]) -> KeyPair | None:
    """Return the first certificate of SSLProxyMachineCertificateFile or -Path with its key (None without
    one); raises StartFailure if one of them has no key.
    """
    if not (conf.certificate_file or conf.certificate_path):
        return None
    files = [conf.certificate_file] if conf.certificate_file else []
    files += files_of(conf.certificate_path) if conf.certificate_path else []
    pairs = [found for file in files if (found := _pair(dialect, read(file))) is not None]
    if not pairs:
        lines.append(Line("warn", "AH02206", "no client certs found for SSL proxy"))
        return None
    return pairs[0]


def _pair(dialect: Dialect, data: bytes) -> KeyPair | None:
    chain = certificates(data)
    if not chain and b"PRIVATE KEY" not in data:
        return None
    try:
        key = private_key(data)
    except (EncryptedKey, NoKey):
        chain = []
    if not chain:
        text = "incomplete client cert configured for SSL proxy (missing or encrypted private key?)"
        raise StartFailure(Line("emerg" if dialect.messages_24 else "error", "AH02252", text))
    if dialect.messages_24 and not belongs(key, chain[0]):
        raise failure(dialect, "AH02326", "proxy client certificate and private key do not match", MISMATCH)
    return pair(key, chain[:1])


def load(context: ssl.SSLContext, own: KeyPair) -> None:
    """Give *context* a certificate with its chain and key; the library reads them from files only."""
    handle = os.memfd_create("certificate")
    try:
        pem = "".join(map(ssl.DER_cert_to_PEM_cert, own.chain)).encode()
        os.write(handle, own.key + pem)
        context.load_cert_chain(f"/proc/self/fd/{handle}")
    finally:
        os.close(handle)
