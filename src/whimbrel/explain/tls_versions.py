"""What TLS decides: whether a client can connect by it, and its version about clients with a certificate."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.numbers import lower
from whimbrel.explain.step import RequestExplanation
from whimbrel.http.semantics.status import reason
from whimbrel.modules.ssl.mod_ssl.protocols import TLS13, negotiated, protocols_of
from whimbrel.modules.ssl.mod_ssl.settings import VERIFY_NONE, SslServerConfig
from whimbrel.verify.config_lines import SideLines, lines_of
from whimbrel.verify.tls_ports import takes_tls

if TYPE_CHECKING:
    from whimbrel.config.model import Server
    from whimbrel.verify.probe import Probe
    from whimbrel.verify.side import Side

_OLDER: Final = "TLSv1.2"


def certificate_notice(
    side: Side, probe: Probe, found: RequestExplanation, explained: Callable[[Probe], RequestExplanation]
) -> str:
    """Return how the answer *found* depends on the version of TLS, or that nothing asks for the certificate;
    "" for neither, and for a client without one.
    """
    tls = probe.tls
    if tls is None or not tls.peer_certificate or not side.is_loaded or found.status is None:
        return ""
    server = _server(side, probe)
    conf = server.config(SslServerConfig)
    if conf.verify == VERIFY_NONE and not _has_line_that_asks(side):
        return "no SSLVerifyClient line asks clients of this virtual host for a certificate: none is sent"
    allowed = protocols_of(side.dialect, conf)
    has_older = allowed is None or _OLDER in allowed
    if negotiated(side.dialect, conf, tls.version) != TLS13 or not has_older:
        return ""
    other = explained(replace(probe, tls=replace(tls, version=_OLDER)))
    if other.status == found.status or other.status is None:
        return ""
    return (
        f"over TLS 1.3 the answer is {_words(found.status)}, over TLS 1.2 it is {_words(other.status)}: the "
        "certificate is asked for in a section, after the handshake, which no browser does in TLS 1.3 "
        "(AH10158); `SSLProtocol TLSv1.2` in the virtual host keeps TLS 1.2"
    )


def connection_notice(side: Side, probe: Probe) -> str:
    """Return that no client speaks TLS at the port of *probe*, which does; "" where one can."""
    if probe.tls is None or not side.is_loaded or takes_tls(side.loaded, probe.address, probe.port):
        return ""
    return (
        f"no line that is read has SSLEngine on for port {probe.port}, so that no client connects by TLS: "
        "the answer is that to a client behind another server with TLS; -D NAME reads what stands in an "
        "<IfDefine NAME>"
    )


def _has_line_that_asks(side: Side) -> bool:
    """Return True if a line of any section or server asks for certificates."""
    lines = (line for line in lines_of(SideLines(side).scopes) if line.name == "sslverifyclient")
    return any(lower("".join(line.words()[:1])) != VERIFY_NONE for line in lines)


def _server(side: Side, probe: Probe) -> Server:
    """Return the server whose settings the handshake of *probe* uses."""
    configuration = side.loaded
    hosts = configuration.hosts
    if hosts is None:
        return configuration.main
    entrance = hosts.find(probe.address, probe.port)
    name = probe.tls.server_name if probe.tls is not None else ""
    return entrance.by_name(name) or entrance.server


def _words(status: int) -> str:
    return f"{status} {reason(status)}".strip()
