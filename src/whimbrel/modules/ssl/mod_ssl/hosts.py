"""Virtual hosts for TLS handshakes: their contexts, and the choice among them by the client's first message.

Contexts are by_protocol in the master, which may read private keys; the keys of session tickets are part of a
context, so any worker resumes a session.  httpd: ssl_init_server_ctx, ssl_find_vhost, ap_select_protocol.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from time import time
from typing import TYPE_CHECKING, Any, Final

from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.config.model import Server
from whimbrel.engine.connection import Connection
from whimbrel.engine.log.error_log_line import LogLine
from whimbrel.engine.tls import TlsChoice, TlsContext, TlsObject, TlsSession
from whimbrel.http.client.answer import END_OF_FILE
from whimbrel.http.syntax.client_hello import TLS_1_2, ClientHello
from whimbrel.modules.ssl.mod_ssl.backend_contexts import load
from whimbrel.modules.ssl.mod_ssl.compatibility import INSECURE, FurtherHandshakes, are_compatible
from whimbrel.modules.ssl.mod_ssl.contexts import context_for, directories_of, settings_key
from whimbrel.modules.ssl.mod_ssl.key_files import KeyPair
from whimbrel.modules.ssl.mod_ssl.library_errors import library_line, library_text
from whimbrel.modules.ssl.mod_ssl.sessions import LibrarySession, StandardSession
from whimbrel.modules.ssl.mod_ssl.settings import ON, SslServerConfig

if TYPE_CHECKING:
    from whimbrel.config.configuration import Configuration
    from whimbrel.engine.request import RequestEngine
    from whimbrel.modules.ssl.mod_ssl.start import TlsServer

HTTP1 = "http/1.1"
HTTP2 = "h2"
ACME_TLS: Final = b"acme-tls/1"  # RFC 8737
# name of the provider of the group "ssl": function (configuration, connection, server, name) -> chain in DER
# and key in PEM, None without a challenge
CHALLENGES: Final = "challenges"
_MODULE: Final = "ssl"
_INHERITED: Final = (
    "ssl contexts"  # in Configuration.inherited: the time of the first ones, and the present ones
)
MAX_KEY_AGE: Final = 24 * 3600  # seconds after which a graceful restart makes new keys of tickets


@dataclass(slots=True)
class TlsHost:
    """One server with SSLEngine on.

    Attributes:
        contexts: by application protocol.
        protocols: Protocols, without those that cannot be spoken; `honors_order`: ProtocolsHonorOrder.
        certificates: the server's own certificates in DER.
    """

    tls: TlsServer
    contexts: dict[str, TlsContext]
    protocols: list[str]
    honors_order: bool
    needs_modern_tls: bool
    certificates: list[bytes] = field(default_factory=list)


def policy_of(configuration: Configuration) -> str:
    """Return SSLVHostSNIPolicy; 2.2 has none, and lets clients without server name reach every host."""
    if configuration.dialect.host_must_be_sni:
        return INSECURE
    return configuration.main.config(SslServerConfig).sni_policy


class Hosts:
    """All servers with TLS of a configuration (TlsHosts)."""

    def __init__(self, configuration: Configuration, servers: list[TlsServer]) -> None:
        self._configuration = configuration
        self._hosts: dict[int, TlsHost] = {}
        self._ids = {id(each.server): each.id for each in servers}
        self._names = {""}
        contexts: dict[Any, TlsContext] = {}
        inherited = _inherited(configuration, contexts)
        enabled = [each for each in servers if each.engine == ON]
        self._handshakes = FurtherHandshakes(enabled, policy_of(configuration))
        for each in servers:
            if each.engine == ON:
                self._hosts[id(each.server)] = _host(configuration, each, contexts, inherited)
            for name in (each.server.name, *each.server.names):
                self._names.add(name.lower())

    def settings(self, server: Server) -> TlsHost | None:
        """Return what *server* is for TLS, None without SSLEngine."""
        return self._hosts.get(id(server))

    def are_compatible(self, handshake: Server, request: Server, policy: str) -> bool:
        """Return True if a handshake with one server lets requests to another through (SSLVHostSNIPolicy)."""
        one = self._hosts.get(id(handshake))
        other = self._hosts.get(id(request))
        if one is None or other is None:
            return policy == INSECURE
        return are_compatible(one.tls, other.tls, policy)

    def may_demand_more(self, conf: SslServerConfig) -> bool:
        """Return True if a server with these settings gets requests after handshakes that suffice for other
        servers, and not for it.
        """
        return self._handshakes.may_demand_more(conf)

    def _default(self, address: str, port: int) -> Server:
        hosts = self._configuration.hosts
        return self._configuration.main if hosts is None else hosts.find(address, port).server

    # TlsHosts -----------------------------------------------------------------------------------------
    def is_enabled(self, address: str, port: int) -> bool:
        """Return True if clients of this address of the server speak TLS."""
        return id(self._default(address, port)) in self._hosts

    def choose(self, connection: Connection, hello: ClientHello) -> TlsChoice:
        """Return what *hello* selects: the server of its name, else the default one of the address."""
        address = connection.local_ip
        port = connection.local_port
        hosts = self._configuration.hosts
        server = self._default(address, port)
        default = server
        if hello.server_name and hosts is not None:
            server = hosts.find(address, port).by_name(hello.server_name) or default
        host = self._hosts.get(id(server)) or self._hosts[id(default)]
        if ACME_TLS in hello.protocols:
            context = self._challenge(connection, server, hello)
            if context is not None:
                return TlsChoice(context, server, ACME_TLS.decode())
        protocol = _protocol(host, hello)
        context = host.contexts.get(protocol) or host.contexts[HTTP1]
        return TlsChoice(context, server, protocol, getattr(context, "may_block", None))

    def _challenge(self, connection: Connection, server: Server, hello: ClientHello) -> TlsContext | None:
        """Return a context that answers a challenge of ACME (ssl_answer_challenge), None if there is none."""
        answer = self._configuration.provider("ssl", CHALLENGES)
        if answer is None or ACME_TLS.decode() not in server.config(CoreServerConfig).protocols:
            return None
        found = answer(self._configuration, connection, server, hello.server_name)
        if found is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        load(context, KeyPair(*found))
        context.set_alpn_protocols([ACME_TLS.decode()])
        return context

    def session(
        self, choice: TlsChoice, tls: TlsObject, hello: ClientHello, flush: Callable[[], None]
    ) -> TlsSession:
        """Return the facts of an established session; *flush* sends what the library has written."""
        name = hello.server_name
        host = self._hosts.get(id(choice.server))
        certificates = [] if host is None else host.certificates
        facts = (choice.server, name, name in self._names, certificates)
        if hasattr(tls, "demand_certificate"):
            return LibrarySession(tls, *facts, flush)
        return StandardSession(tls, *facts)

    # the log ------------------------------------------------------------------------------------------
    def failed(
        self,
        engine: RequestEngine,
        connection: Connection,
        choice: TlsChoice | None,
        tls: TlsObject | None,
        problem: Exception | None,
    ) -> None:
        """Log a handshake that failed."""
        server = (
            self._default(connection.local_ip, connection.local_port) if choice is None else choice.server
        )
        log_lines(engine, connection, server, tls)
        if problem is None:
            text = "SSL handshake interrupted by system [Hint: Stop button pressed in browser?!]"
            engine.log_connection(connection, server, LogLine("info", text, "AH02007", _MODULE))
            return
        if isinstance(problem, EOFError):
            text = "SSL handshake stopped: connection was closed"
            line = LogLine("info", text, "AH02006", _MODULE, END_OF_FILE)
            engine.log_connection(connection, server, line)
            return
        text = f"SSL library error 1 in handshake (server {self._ids[id(server)]})"
        engine.log_connection(connection, server, LogLine("info", text, "AH02008", _MODULE))
        engine.log_connection(connection, server, LogLine("info", library_text(problem), "", _MODULE))

    def report(
        self, engine: RequestEngine, connection: Connection, choice: TlsChoice, tls: TlsObject
    ) -> None:
        """Log what a step of a handshake has noted, or why an established connection ends."""
        log_lines(engine, connection, choice.server, tls)

    def spoke_http(self, engine: RequestEngine, connection: Connection) -> None:
        """Log that a client spoke plain HTTP."""
        server = self._default(connection.local_ip, connection.local_port)
        text = "SSL handshake failed: HTTP spoken on HTTPS port; trying to send HTML error page"
        engine.log_connection(connection, server, LogLine("info", text, "AH01996", _MODULE))
        line = LogLine("info", library_line("http request"), "", _MODULE)
        engine.log_connection(connection, server, line)


def log_lines(engine: RequestEngine, connection: Connection, server: Server, tls: TlsObject | None) -> None:
    """Log what the verification of certificates has noted."""
    lines = getattr(tls, "lines", None)
    if lines:
        for line in lines:
            engine.log_connection(connection, server, line)
        lines.clear()


def _inherited(configuration: Configuration, contexts: dict[Any, TlsContext]) -> dict[Any, TlsContext]:
    """Return the contexts of the configuration before a graceful restart, so that tickets remain valid.

    Those that are older than `MAX_KEY_AGE` are made anew, with new keys; *contexts* are left to the next one.
    """
    age, before = configuration.inherited.get(_INHERITED, (0.0, {}))
    now = time()
    is_recent = now - age < MAX_KEY_AGE
    configuration.inherited[_INHERITED] = (age if is_recent else now, contexts)
    return before if is_recent else {}


def _host(
    configuration: Configuration,
    each: TlsServer,
    contexts: dict[Any, TlsContext],
    inherited: dict[Any, TlsContext],
) -> TlsHost:
    """Return the host of a server; servers with equal settings share contexts."""
    core = each.server.config(CoreServerConfig)
    provider = configuration.provider("http2", "settings")
    http2 = None if provider is None else provider(configuration, each.server)
    protocols = list(core.protocols) or [HTTP1]
    if http2 is None:
        protocols = [name for name in protocols if name != HTTP2]
    by_protocol = {}
    for protocol in (HTTP1, HTTP2):
        if protocol == HTTP1 or protocol in protocols:
            key = (protocol, settings_key(each))
            if key not in contexts:
                found = None if directories_of(each.conf) else inherited.get(key)
                contexts[key] = found or context_for(configuration.dialect, each, protocol)
            by_protocol[protocol] = contexts[key]
    own = [pair.chain[0] for pair in each.pairs]
    modern = True if http2 is None else http2.modern_tls_only
    return TlsHost(each, by_protocol, protocols, core.protocols_honor_order, modern, own)


def _protocol(host: TlsHost, hello: ClientHello) -> str:
    """Return the application protocol for a client (ap_select_protocol)."""
    if not hello.protocols or HTTP2 not in host.contexts:
        return HTTP1
    if host.needs_modern_tls and hello.version < TLS_1_2:
        return HTTP1
    offers = [name.decode("latin-1") for name in hello.protocols]
    order = host.protocols if host.honors_order else offers
    return next((name for name in order if name in offers and name in host.protocols), HTTP1)
