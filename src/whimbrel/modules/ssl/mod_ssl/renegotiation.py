"""Client certificates that a section asks for: a further handshake on an established connection.

With TLS 1.2 it is a renegotiation, with TLS 1.3 post-handshake authentication.  The request's body is read
before, up to SSLRenegBufferSize.  httpd: ssl_hook_Access_classic, ssl_hook_Access_modern.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Any, Final

from whimbrel.config.core_config import CoreServerConfig
from whimbrel.engine.input.body import ready_body
from whimbrel.engine.tls import RENEGOTIATION_NOTE
from whimbrel.http.http1.chunked import BodyError
from whimbrel.modules.ssl.mod_ssl.certificate_checks import Verification
from whimbrel.modules.ssl.mod_ssl.settings import (
    OPT_RENEGOTIATE,
    VERIFY_REQUIRE,
    SslDirConfig,
    SslServerConfig,
)
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import DECLINED, HookStatus

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_MODULE: Final = "ssl"
_MODERN: Final = "TLSv1.3"
_UNABLE: Final = "Reason: Cannot perform Post-Handshake Authentication.<br />"


def make_verify(scope: Scope) -> CompiledHook | None:
    """Return the hook of SSLVerifyClient and SSLVerifyDepth in sections; None without them."""
    conf, server = scope.dir_config(SslDirConfig), scope.server_config(SslServerConfig)
    if conf.verify is None and conf.depth is None and conf.ciphers is None:
        return None
    ciphers = None if conf.ciphers is None else _cipher_names(conf.ciphers)
    cipher_list = conf.ciphers or ""
    mode = server.verify if conf.verify is None else conf.verify
    depth = server.depth if conf.depth is None else conf.depth
    wanted = Verification(mode, depth, server.crl_may_miss)
    keeps, buffer = OPT_RENEGOTIATE in conf.options.options, conf.request_buffer

    async def verify(r: Request) -> HookStatus:
        tls: Any = r.connection.tls
        if tls is None:
            return DECLINED
        r.set_uncacheable()
        present: Verification = getattr(tls, "verification", Verification())
        if ciphers is not None and tls.version != _MODERN and tls.cipher not in ciphers:
            stricter = wanted if _needs_handshake(present, wanted) else present
            status = await _handshake(r, tls, stricter, buffer, cipher_list)
            if status == DECLINED and tls.cipher not in ciphers:
                return _refused(r)
            return status
        if not _needs_handshake(present, wanted):
            return DECLINED
        if keeps and tls.peer_certificate is not None and wanted.depth >= present.depth:
            return DECLINED
        return await _handshake(r, tls, wanted, buffer)

    return CompiledHook(verify, Reads.UNCACHEABLE, is_async=True)


def _needs_handshake(present: Verification, wanted: Verification) -> bool:
    """Return True if *wanted* is stricter than what the connection's handshake has checked."""
    if wanted.wants and not present.wants:
        return True
    return (wanted.requires and not present.requires) or wanted.depth < present.depth


async def _handshake(
    r: Request, tls: Any, wanted: Verification, buffer: int, ciphers: str = ""
) -> HookStatus:
    """Do a further handshake that checks certificates as *wanted*, and selects one of *ciphers*."""
    if r.connection.is_http2:
        r.connection.notes[RENEGOTIATION_NOTE] = "verify-client"
        return 403
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
        await asyncio.wait_for(tls.demand_certificate(wanted, ciphers), timeout)
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


def _cipher_names(text: str) -> frozenset[str]:
    """Return the names of the ciphers that SSLCipherSuite selects."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers(text)
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
    return 403


def _failed(r: Request, tls: Any, problem: BaseException, is_modern: bool) -> HookStatus:
    from whimbrel.modules.ssl.mod_ssl.library_errors import library_text

    _log_lines(r, tls)
    if not str(problem) and is_modern:
        text = "verify client post handshake, error: Cannot perform Post-Handshake Authentication"
        r.log("error", text, code="AH10158", module=_MODULE)
        r.notes["error-notes"] = _UNABLE
        return 403
    r.close = True
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
