"""Client certificates that a section asks for: a further handshake on an established connection.

With TLS 1.2 it is a renegotiation, with TLS 1.3 post-handshake authentication.  The request's body is read
before, up to SSLRenegBufferSize.  httpd: ssl_hook_Access_classic, ssl_hook_Access_modern.
"""

from __future__ import annotations

import asyncio
import ssl
from functools import lru_cache
from typing import Any, Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.engine.input.body import ready_body
from whimbrel.engine.request import Request
from whimbrel.engine.tls import RENEGOTIATION_NOTE
from whimbrel.http.http1.chunked import BodyError
from whimbrel.modules.ssl.mod_ssl.certificate_checks import Verification
from whimbrel.modules.ssl.mod_ssl.compatibility import HOSTS, differs_in_trust
from whimbrel.modules.ssl.mod_ssl.settings import (
    DEFAULT_CIPHERS,
    OPT_RENEGOTIATE,
    VERIFY_NO_CA,
    VERIFY_NONE,
    VERIFY_OPTIONAL,
    VERIFY_REQUIRE,
    SslDirConfig,
    SslServerConfig,
)
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import DECLINED, HookStatus

_MODULE: Final = "ssl"
FAILED_NOTE: Final = "ssl-handshake-failed"  # note of a connection: a further handshake was not completed
_CIPHERS_NOTE: Final = "ssl-ciphers"  # note of a connection: SSLCipherSuite of the last further handshake
_MODERN: Final = "TLSv1.3"
_OTHER_AUTHORITIES: Final = (
    "Non-default virtual host with SSLVerify set to 'require' and VirtualHost-specific CA certificate list "
    "is only available to clients with TLS server name indication (SNI) support"
)
_UNABLE: Final = "Reason: Cannot perform Post-Handshake Authentication.<br />"


@dataclass(frozen=True, slots=True)
class _Demands:
    """What a section and the server of its requests demand of the client.

    Attributes:
        server: the settings of the server.
        wanted: how certificates are checked.
        ciphers: SSLCipherSuite of the section, "" without one.
        buffer: SSLRenegBufferSize.
        keeps_cipher: SSLOptions +OptRenegotiate: a cipher that suffices needs no further handshake.
    """

    server: SslServerConfig
    wanted: Verification
    ciphers: str
    buffer: int
    keeps_cipher: bool


def _verification(conf: SslDirConfig, server: SslServerConfig) -> Verification:
    """Return how certificates are checked for a section of a server: as the stricter of the two wants.

    The section's line alone decides whether issuers may be unknown, if it has one; with `none` in a server of
    optional_no_ca, no certificate is judged (ssl_callback_SSLVerify).
    """
    modes = (conf.verify or VERIFY_NONE, server.verify)
    takes_any = conf.verify == VERIFY_NONE and server.verify == VERIFY_NO_CA
    mode = VERIFY_NONE
    if VERIFY_REQUIRE in modes:
        mode = VERIFY_REQUIRE
    elif modes != (VERIFY_NONE, VERIFY_NONE):
        decisive = server.verify if conf.verify is None or takes_any else conf.verify
        mode = VERIFY_NO_CA if decisive == VERIFY_NO_CA else VERIFY_OPTIONAL
    depth = server.depth if conf.depth is None else conf.depth
    return Verification(mode, depth, server.crl_may_miss, takes_any)


def make_verify(scope: Scope) -> CompiledHook | None:
    """Return the hook of SSLVerifyClient, SSLVerifyDepth and SSLCipherSuite in sections, and in servers that
    get requests after handshakes with others; None without them.
    """
    conf = scope.dir_config(SslDirConfig)
    server = scope.server_config(SslServerConfig)
    hosts = scope.provider("ssl", HOSTS)
    in_section = not (conf.verify is None and conf.depth is None and conf.ciphers is None)
    if not in_section and (hosts is None or not hosts.may_demand_more(server)):
        return None
    verification = _verification(conf, server)
    ciphers = conf.ciphers or ""
    keeps_cipher = OPT_RENEGOTIATE in conf.options.options
    demands = _Demands(server, verification, ciphers, conf.request_buffer, keeps_cipher)

    async def verify(r: Request) -> HookStatus:
        tls: Any = r.connection.tls
        if tls is None:
            return DECLINED
        r.set_uncacheable()
        return await _verify(r, tls, demands)

    return CompiledHook(verify, Reads.UNCACHEABLE, is_async=True)


async def _verify(r: Request, tls: Any, demands: _Demands) -> HookStatus:
    """Check what the handshake has checked against *demands*; do a further handshake if they are stricter."""
    if FAILED_NOTE in r.connection.notes:  # the error document of a request whose handshake has failed
        return 403
    handshake = tls.server.config(SslServerConfig)
    is_other = r.server is not tls.server
    is_modern = tls.version == _MODERN
    wanted = demands.wanted
    present: Verification = getattr(tls, "verification", Verification())
    needs_certificate = wanted.is_stricter_than(present, has_certificate=tls.peer_certificate is not None)
    ciphers = demands.ciphers or (demands.server.ciphers if is_other else "")
    offered = r.connection.notes.get(_CIPHERS_NOTE, handshake.ciphers)
    if is_modern or ciphers == offered:
        ciphers = ""
    if r.connection.is_http2 and (ciphers or needs_certificate):
        r.connection.notes[RENEGOTIATION_NOTE] = "cipher-suite" if ciphers else "verify-client"
        return 403
    is_foreign = is_other and wanted.wants and differs_in_trust(handshake, demands.server)
    is_refused = is_foreign and wanted.requires
    if is_refused and not is_modern:
        return _of_other_authority(r)
    names = _cipher_names(ciphers) if ciphers else None
    # a handshake for other ciphers asks for the certificate anew: what an earlier one has shown is gone
    needs_cipher = names is not None and (
        tls.cipher not in names
        or not demands.keeps_cipher
        and names != _cipher_names(offered or DEFAULT_CIPHERS)
    )
    if needs_cipher or needs_certificate:
        status = await _handshake(r, tls, wanted, demands.buffer, ciphers if needs_cipher else "")
        if status != DECLINED:
            return status
        if needs_cipher:
            r.connection.notes[_CIPHERS_NOTE] = ciphers
        if is_foreign:
            tls.distrust()
    if names is not None and tls.cipher not in names:
        return _refused(r)
    return _of_other_authority(r) if is_refused else DECLINED


def _of_other_authority(r: Request) -> HookStatus:
    r.log("info", _OTHER_AUTHORITIES, code="AH02256", module=_MODULE)
    return 403


async def _handshake(
    r: Request, tls: Any, wanted: Verification, buffer: int, ciphers: str = ""
) -> HookStatus:
    """Do a further handshake that checks certificates as *wanted*, and selects one of *ciphers*."""
    if not hasattr(tls, "demand_certificate"):  # a section of an .htaccess file, which no start foresees
        return _refused(r)
    status = await _buffer_body(r, buffer)
    if status:
        return status
    is_modern = tls.version == _MODERN
    if not is_modern:
        r.log("info", "Requesting connection re-negotiation", code="AH02221", module=_MODULE)
        r.log("info", "Awaiting re-negotiation handshake", code="AH02226", module=_MODULE)
        _drop_pipelined(r)
    timeout = r.server_conf(CoreServerConfig).timeout
    try:
        waiter = tls.demand_certificate(wanted, ciphers)
        if waiter is not None:  # None: the session of a probe, which is at the end of the handshake
            await asyncio.wait_for(waiter, timeout)
    except (TimeoutError, Exception) as problem:
        return _failed(r, tls, problem, is_modern)
    _log_lines(r, tls)
    if wanted.mode == VERIFY_REQUIRE:
        return _judge(r, tls)
    return DECLINED


def _drop_pipelined(r: Request) -> None:
    """End the connection after the response if a request behind it came before the handshake: it may be
    another client's (CVE-2009-3555).
    """
    has_pipelined = r.connection.has_pipelined
    if has_pipelined is not None and has_pipelined():
        r.close = True
        text = "insecure SSL re-negotiation required, but a pipelined request is present; keepalive disabled"
        r.log("error", text, code="AH02259", module=_MODULE)


def _refused(r: Request) -> HookStatus:
    r.log("error", "Re-negotiation handshake failed", code="AH02261", module=_MODULE)
    return 403


@lru_cache(maxsize=256)
def _cipher_names(text: str) -> frozenset[str]:
    """Return the names of the ciphers that SSLCipherSuite selects, none for a refused value."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.set_ciphers(text)
    except ssl.SSLError:
        return frozenset()
    return frozenset([cipher["name"] for cipher in context.get_ciphers()])


def _judge(r: Request, tls: Any) -> HookStatus:
    """Return 403 after a handshake without the certificate that is required."""
    if tls.verify_error:
        text = "Re-negotiation handshake failed: Client verification failed"
        r.log("error", text, code="AH02262", module=_MODULE)
    elif tls.peer_certificate is None:
        text = "Re-negotiation handshake failed: Client certificate missing"
        r.log("error", text, code="AH02263", module=_MODULE)
    else:
        return DECLINED
    r.close = True
    r.connection.notes[FAILED_NOTE] = "1"
    return 403


def _failed(r: Request, tls: object, problem: BaseException, is_modern: bool) -> HookStatus:
    from whimbrel.modules.ssl.mod_ssl.library_errors import library_text

    _log_lines(r, tls)
    if not str(problem) and is_modern:
        text = "cannot perform post-handshake authentication"
        r.log("error", text, code="AH10158", module=_MODULE)
        r.notes["error-notes"] = _UNABLE
        return 403
    r.close = True
    r.connection.notes[FAILED_NOTE] = "1"
    line = library_text(problem)
    if is_modern and "did not return a certificate" in line:
        return _judge(r, tls)
    r.log("error", "Re-negotiation handshake failed", code="AH02261", module=_MODULE)
    r.log("error", line, module=_MODULE)
    return 403


def _log_lines(r: Request, tls: Any) -> None:
    for line in tls.lines:
        r.engine.log_connection(r.connection, tls.server, line)
    tls.lines.clear()


async def _buffer_body(r: Request, limit: int) -> HookStatus:
    """Read the request's body: its bytes come before those of the handshake."""
    body = r.body_in
    if body.length == 0 or body.ended and not body.buffered or r.expecting_100:
        return 0
    data = bytearray()
    try:
        while len(data) <= limit and limit and (piece := await body.read()):
            data += piece
    except BodyError as problem:
        return problem.status
    if not limit or len(data) > limit:
        if limit:
            text = f"request body exceeds maximum size ({limit}) for SSL buffer"
            r.log("error", text, code="AH02018", module=_MODULE)
        text = "could not buffer message body to allow SSL renegotiation to proceed"
        r.log("error", text, code="AH02257", module=_MODULE)
        return 413
    r.body_in = ready_body(bytes(data))
    return 0
