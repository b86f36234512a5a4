"""Sections that ask clients for a certificate: in TLS 1.3, which 2.2 has not, browsers do not answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.base.dialect import V22
from whimbrel.base.errors import SourceLocation
from whimbrel.base.numbers import lower
from whimbrel.config.model import Server
from whimbrel.modules.ssl.mod_ssl.certificate_checks import Verification
from whimbrel.modules.ssl.mod_ssl.protocols import TLS13, negotiated
from whimbrel.modules.ssl.mod_ssl.settings import (
    ON,
    VERIFY_NO_CA,
    VERIFY_OPTIONAL,
    VERIFY_REQUIRE,
    SslServerConfig,
)
from whimbrel.modules.ssl.mod_ssl.start import engine_of
from whimbrel.upgrade.knowledge.scope import UnknownItem, UnknownKind
from whimbrel.verify.config_lines import LineScope, SideLines
from whimbrel.verify.side import Side

_MODES: Final = (VERIFY_OPTIONAL, VERIFY_REQUIRE, VERIFY_NO_CA)
_CONSEQUENCE: Final = (
    "no request with a certificate was compared: 2.2 asks for it in a renegotiation, 2.4 answers 403 to "
    "clients of TLS 1.3 without post-handshake authentication, as all browsers are (AH10158)"
)
_ADVICE: Final = (
    "`SSLProtocol TLSv1.2` in the virtual host keeps TLS 1.2, SSLVerifyClient there asks in the handshake; "
    "# whimbrel: ignore[DIFF] above the line records that the answers of 2.4 are wanted"
)


def late_certificates(sides: tuple[SideLines, SideLines]) -> Iterator[UnknownItem]:
    """Yield an item for each line of the new side that asks for a certificate after a handshake of TLS 1.3,
    where the old side is a server of 2.2.
    """
    old, new = sides
    if old.side.dialect.name != V22.name or new.side.dialect.name == V22.name:
        return
    configuration = new.side.loaded
    servers = [configuration.main, *configuration.virtual_hosts]
    for scope in new.scopes:
        for line in scope.lines if scope.kind != "server" else ():
            mode = lower("".join(line.words()[:1]))
            if line.name != "sslverifyclient" or mode not in _MODES:
                continue
            if any(_is_late(new.side, one, mode) for one in servers if _holds(scope, one)):
                place = SourceLocation(line.path, line.line)
                subject = f"`{line.text}` of {scope.written} asks for a certificate after the handshake"
                yield UnknownItem(UnknownKind.NOT_EXERCISED, place, subject, _CONSEQUENCE, _ADVICE)


def _holds(scope: LineScope, server: Server) -> bool:
    """Return True if lines of *scope* may hold for requests to *server*: those of the main server and of
    .htaccess files hold for all.
    """
    place = server.place
    return not scope.host[0] or (place is not None and (place.path, place.line) == scope.host)


def _is_late(side: Side, server: Server, mode: str) -> bool:
    """Return True if a first handshake with *server* may be one of TLS 1.3, and checks less than *mode*."""
    if engine_of(side.loaded, server) != ON:
        return False
    conf = server.config(SslServerConfig)
    present = Verification(conf.verify, conf.depth)
    is_stricter = Verification(mode, conf.depth).is_stricter_than(present)
    return is_stricter and negotiated(side.dialect, conf, TLS13) == TLS13
