"""The first check of a request over TLS: plain HTTP, and the Host field against the server name (SNI).

httpd: ssl_hook_ReadReq.  Manual: SSLStrictSNIVHostCheck, SSLVHostSNIPolicy.
"""

from __future__ import annotations

from typing import Any, Final

from whimbrel.base.numbers import lower
from whimbrel.config.model import Server
from whimbrel.engine.log.error_log_line import LogLine, enabled
from whimbrel.engine.request import Request
from whimbrel.engine.tls import PLAIN_NOTE
from whimbrel.modules.ssl.mod_ssl.compatibility import HOSTS
from whimbrel.modules.ssl.mod_ssl.settings import ON, SslServerConfig
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import DECLINED, HookStatus

_MODULE: Final = "ssl"
PLAIN: Final = (
    "Reason: You're speaking plain HTTP to an SSL-enabled server port.<br />\n"
    " Instead use the HTTPS scheme to access this URL, please.<br />\n"
)
_NAMELESS: Final = (
    "Reason: The client software did not provide a hostname using Server Name Indication (SNI), "
    "which is required to access this server.<br />\n"
)
_MISDIRECTED: Final = (
    "Hostname {} {} and hostname {} provided via HTTP have no compatible SSL setup for policy '{}'"
)


def make_names(scope: Scope) -> CompiledHook | None:
    """Return the hook that checks the names of requests; None without TLS."""
    hosts = scope.provider("ssl", HOSTS)
    if hosts is None:
        # probes ask configurations that were read and not started; certificates may imply SSLEngine
        conf = scope.server_config(SslServerConfig)
        return CompiledHook(_refuse_plain, Reads.NOTHING) if conf.engine == ON or conf.certificates else None
    check = _check_22 if scope.dialect.host_must_be_sni else _check

    def names(r: Request) -> HookStatus:
        if r.connection.tls is not None:
            return check(r, hosts)
        return _refuse_plain(r)

    return CompiledHook(names, Reads.NOTHING)


def _refuse_plain(r: Request) -> HookStatus:
    if r.connection.notes.pop(PLAIN_NOTE, ""):
        r.notes["error-notes"] = PLAIN
        r.set_uncacheable()
        return 400
    return DECLINED


def _is_strict(r: Request, server: Server) -> bool:
    """Return True if clients without SNI are refused: by the server of the handshake, or of the request."""
    return server.config(SslServerConfig).strict_sni or r.server_conf(SslServerConfig).strict_sni


def _has_names(r: Request) -> bool:
    """Return True if the address has name-based virtual hosts."""
    hosts = r.engine.configuration.hosts
    return hosts is not None and hosts.find(r.connection.local_ip, r.connection.local_port).named


def _check(r: Request, hosts: Any) -> HookStatus:
    tls = r.connection.tls
    assert tls is not None
    name = tls.server_name
    if not name and _is_strict(r, tls.server) and _has_names(r):
        name = getattr(tls, "resumed_name", "")
    if not name and _is_strict(r, tls.server) and _has_names(r):
        text = "No hostname was provided via SNI for a name based virtual host"
        r.log("info", text, code="AH02033", module=_MODULE)
        r.notes["error-notes"] = _NAMELESS
        return 403
    if name and r.hostname is None:
        text = f"Hostname {name} provided via SNI, but no hostname provided in HTTP request"
        r.log("error", text, code="AH02031", module=_MODULE)
        return 400
    if r.server is not tls.server:
        policy = r.engine.main.config(SslServerConfig).sni_policy
        if not hosts.are_compatible(tls.server, r.server, policy):
            how = "provided via SNI" if name else "(default host as no SNI was provided)"
            text = _MISDIRECTED.format(name or tls.server.name, how, r.hostname, policy)
            r.log("error", text, code="AH02032", module=_MODULE)
            return 421
    return DECLINED


def _check_22(r: Request, _hosts: object) -> HookStatus:
    tls = r.connection.tls
    assert tls is not None
    name = tls.server_name
    if name:
        if r.hostname is None:
            text = f"Hostname {name} provided via SNI, but no hostname provided in HTTP request"
            _log_server(r, text)
            return 400
        if lower(r.hostname) != lower(name):
            text = (
                f"Hostname {name} provided via SNI and hostname {r.hostname} provided via HTTP are different"
            )
            _log_server(r, text)
            return 400
    elif _is_strict(r, tls.server) and _has_names(r):
        text = "No hostname was provided via SNI for a name based virtual host"
        _log_server(r, text)
        return 403
    return DECLINED


def _log_server(r: Request, text: str) -> None:
    """Log a line that names no client, as 2.2 does."""
    r.set_uncacheable()
    if enabled(r.plan.levels, _MODULE, "error"):
        r.engine.error_log.about_server(r.server, LogLine("error", text, "", _MODULE))
