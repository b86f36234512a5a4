"""Contexts of servers with TLS: of the standard library, or of pyOpenSSL where that cannot do what is set."""

from __future__ import annotations

import os
import ssl
from copy import copy
from hashlib import sha256
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from cryptography import x509

from whimbrel.base.dialect import Dialect
from whimbrel.base.errors import MissingPackage, StartError
from whimbrel.base.latin1 import to_bytes
from whimbrel.modules.ssl.mod_ssl import dh_groups
from whimbrel.modules.ssl.mod_ssl.backend_contexts import load, set_protocols
from whimbrel.modules.ssl.mod_ssl.certificate_checks import Verification
from whimbrel.modules.ssl.mod_ssl.context_checks import files_of
from whimbrel.modules.ssl.mod_ssl.key_files import certificates, read
from whimbrel.modules.ssl.mod_ssl.protocols import protocols_of
from whimbrel.modules.ssl.mod_ssl.sessions import note_name
from whimbrel.modules.ssl.mod_ssl.settings import (
    CRL_CHAIN,
    CRL_NONE,
    DEFAULT_CIPHERS,
    OFF,
    VERIFY_NONE,
    SslServerConfig,
)
from whimbrel.modules.ssl.mod_ssl.start_messages import failure, refusal

if TYPE_CHECKING:
    from whimbrel.engine.tls import TlsContext
    from whimbrel.modules.ssl.mod_ssl.openssl import OpenSslContext
    from whimbrel.modules.ssl.mod_ssl.start import TlsServer

TICKETS: Final = 1  # of a handshake of TLS 1.3: a second one is a tenth of its work, and few clients use it
_NEEDED: Final = "mod_ssl with client certificates, stapling, SSLCipherSuite TLSv1.3 or SSLOpenSSLConfCmd"


def settings_key(each: TlsServer) -> tuple[Any, ...]:
    """Return the settings that make a context; servers with equal ones share it."""
    conf = each.conf
    own = (
        tuple(each.pairs),
        conf.protocols,
        conf.ciphers,
        conf.tls13_ciphers,
        conf.honor_order,
        conf.compression,
        conf.session_tickets,
        conf.strict_sni,
        _stamps(conf),
        dh_groups.parameters(conf, each.pairs),
    )
    if not needs_openssl(each):
        return own
    return (
        *own,
        each.id,  # of the context of sessions: one server's certificates do not hold for another
        conf.crl_check,
        conf.crl_may_miss,
        conf.verify,
        conf.depth,
        each.may_renegotiate,
        conf.ocsp,
        conf.ocsp_may_miss,
        tuple(conf.ocsp_settings.items()),
        tuple(conf.commands),
        conf.stapling,
        tuple(conf.stapling_settings.items()),
    )


def directories_of(conf: SslServerConfig) -> list[str]:
    """Return the directories of a context, whose files may change unnoticed."""
    return [path for path in (conf.ca_path, conf.crl_path, conf.ca_names_path) if path]


def _stamps(conf: SslServerConfig) -> tuple[Any, ...]:
    """Return the names of further files of a context, with what tells a changed file from the same one."""
    files = [conf.ca_file, conf.crl_file, str(conf.ocsp_settings.get("certificates", ""))]
    files += [value for _name, value in conf.commands if value.startswith("/")]
    stamps: list[Any] = [*directories_of(conf)]
    for path in [*files, conf.ca_names_file]:
        try:
            found = os.stat(to_bytes(path)) if path else None
        except OSError:
            found = None
        stamps.append((path, found and (found.st_mtime_ns, found.st_size, found.st_ino)))
    return tuple(stamps)


def refuse_unsupported(conf: SslServerConfig) -> None:
    """Refuse what neither library does here and what a client's access depends on; raises StartError."""
    if not conf.commands or find_spec("OpenSSL") is None:
        return
    from whimbrel.modules.ssl.mod_ssl import conf_commands

    for name, _value in conf.commands:
        if not conf_commands.is_known(name):
            raise StartError(
                f"whimbrel: SSLOpenSSLConfCmd {name}: the library has no function for this command"
            )


def needs_openssl(each: TlsServer) -> bool:
    """Return True if the standard library cannot do what is set."""
    conf = each.conf
    return (
        conf.verify != VERIFY_NONE
        or each.may_renegotiate
        or conf.stapling
        or bool(conf.tls13_ciphers)
        or bool(conf.commands)
    )


def context_for(dialect: Dialect, each: TlsServer, protocol: str) -> TlsContext:
    """Return a context for clients that speak *protocol* after the handshake."""
    if not needs_openssl(each):
        return _standard(dialect, each, protocol)
    if find_spec("OpenSSL") is None:
        raise MissingPackage(_NEEDED, "tls", "pyOpenSSL")
    return _openssl(dialect, each, protocol)


def _standard(dialect: Dialect, each: TlsServer, protocol: str) -> ssl.SSLContext:
    conf = each.conf
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    set_protocols(context, protocols_of(dialect, conf))
    context.set_ciphers(conf.ciphers or DEFAULT_CIPHERS)
    for pair in each.pairs:
        load(context, pair)
    if conf.ca_file or conf.ca_path:  # of which the library completes chains
        context.load_verify_locations(_path(conf.ca_file), _path(conf.ca_path))
    dh_groups.load(context.load_dh_params, dh_groups.parameters(conf, each.pairs))
    options = ssl.OP_NO_RENEGOTIATION | ssl.OP_SINGLE_DH_USE | ssl.OP_SINGLE_ECDH_USE
    if not conf.compression:
        options |= ssl.OP_NO_COMPRESSION
    if not conf.session_tickets:
        options |= ssl.OP_NO_TICKET
    context.options |= options
    if conf.honor_order:
        context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE
    else:
        context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
    context.num_tickets = TICKETS
    if conf.strict_sni:
        context.sni_callback = note_name
    if not dialect.ignores_alpn:
        context.set_alpn_protocols([protocol])
    return context


def _path(name: str) -> bytes | None:
    return to_bytes(name) if name else None


def _openssl(dialect: Dialect, each: TlsServer, protocol: str) -> OpenSslContext:
    from OpenSSL import SSL

    from whimbrel.modules.ssl.mod_ssl import conf_commands
    from whimbrel.modules.ssl.mod_ssl.client_status import ClientStatus
    from whimbrel.modules.ssl.mod_ssl.openssl import OpenSslContext

    conf = each.conf
    check = conf.crl_check
    may_miss = conf.crl_may_miss
    if dialect.revocation_always and (conf.crl_file or conf.crl_path):
        check = CRL_CHAIN
        may_miss = True
    verification = Verification(conf.verify, conf.depth, may_miss)
    wrapper = OpenSslContext(verification, may_renegotiate=each.may_renegotiate)
    wrapper.set_protocols(protocols_of(dialect, conf))
    context = wrapper.context
    context.set_cipher_list(to_bytes(conf.ciphers or DEFAULT_CIPHERS))
    if conf.tls13_ciphers:
        context.set_tls13_ciphersuites(to_bytes(conf.tls13_ciphers))
    for pair in each.pairs:
        wrapper.load(pair)
    if not conf.compression:
        context.set_options(SSL.OP_NO_COMPRESSION)
    if not conf.session_tickets:
        context.set_options(SSL.OP_NO_TICKET)
    if conf.honor_order:
        context.set_options(SSL.OP_CIPHER_SERVER_PREFERENCE)
    context.set_session_cache_mode(SSL.SESS_CACHE_OFF if conf.session_tickets else SSL.SESS_CACHE_SERVER)
    context.set_session_id(sha256(each.id.encode("latin-1")).digest())
    if conf.ca_file or conf.ca_path:
        wrapper.load_authorities(conf.ca_file, conf.ca_path, _names(conf))
    if check != CRL_NONE:
        wrapper.check_revocation(conf.crl_file, conf.crl_path, chain=check == CRL_CHAIN)
    dh_groups.load(context.load_tmp_dh, dh_groups.parameters(conf, each.pairs))
    for name, value in conf.commands:
        if not conf_commands.apply(context, name, value):
            text = f'"SSLOpenSSLConfCmd {name} {value}" failed for {each.id}'
            raise refusal(dialect, [], failure(dialect, "AH02407", text))
    if conf.ocsp != OFF:
        wrapper.status = ClientStatus(conf)
    if each.stapling is not None:
        wrapper.staple(each.stapling)
    if conf.strict_sni:  # with a callback, sessions of TLS 1.2 keep the server name
        context.set_tlsext_servername_callback(_accept_name)
    wrapper.make_variant = lambda ciphers: _openssl(dialect, _with_ciphers(each, ciphers), protocol)
    if not dialect.ignores_alpn:
        wrapper.offer(protocol)
    return wrapper


def _accept_name(_connection: Any) -> None:
    """Accept every server name: the handshake has been given the context of its host."""


def _with_ciphers(each: TlsServer, ciphers: str) -> TlsServer:
    """Return a server with the ciphers of one of its sections."""
    found = copy(each)
    found.conf = copy(each.conf)
    found.conf.ciphers = ciphers
    return found


def _names(conf: SslServerConfig) -> list[x509.Certificate]:
    """Return the certificates whose names are sent to clients (ssl_init_FindCAList)."""
    file = conf.ca_names_file
    path = conf.ca_names_path
    if not (file or path):
        file = conf.ca_file
        path = conf.ca_path
    found: dict[bytes, x509.Certificate] = {}
    for each in ([file] if file else []) + (files_of(path) if path else []):
        try:
            for certificate in certificates(read(each)):
                found.setdefault(certificate.subject.public_bytes(), certificate)
        except OSError:
            continue
    return list(found.values())
