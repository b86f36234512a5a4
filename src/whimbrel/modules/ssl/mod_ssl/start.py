"""The start of mod_ssl: certificates, keys and contexts of all servers, with httpd's messages.

2.4: ssl_init_Module; 2.2: ssl_pphrase_Handle for all servers, then ssl_init_Module.  httpd does all of it
twice at its first start.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from whimbrel.base.errors import MissingPackage, StartError
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.config.configuration import Configuration
from whimbrel.config.model import Server, Stage
from whimbrel.modules.ssl.mod_ssl.settings import OFF, ON, SslProxyDirConfig, SslServerConfig
from whimbrel.modules.ssl.mod_ssl.start_messages import MODULE, Line
from whimbrel.registry.settings import UNSET, merge, with_defaults

if TYPE_CHECKING:
    from whimbrel.modules.ssl.mod_ssl.key_files import KeyPair
    from whimbrel.modules.ssl.mod_ssl.stapling import Stapling
    from whimbrel.modules.ssl.mod_ssl.start_messages import Line

HTTP_PORT = 80
HTTPS_PORT = 443
KEY_PAIRS: Final = "key_pairs"  # name of the provider of the group "ssl": key pairs by server
# group of providers: functions (configuration, server, fallback=) -> pairs of files with certificate and key
SUPPLIERS: Final = "ssl_certificates"
_UNAVAILABLE: Final = (
    "Init: {} will respond with '503 Service Unavailable' for now. There are no SSL certificates configured "
    "and no other module contributed any."
)
_NO_CACHE: Final = "Init: Session Cache is not configured [hint: SSLSessionCache]"
_NO_SNI: Final = (
    "Init: Name-based SSL virtual hosts only work for clients with TLS server name indication support "
    "(RFC 4366)"
)


@dataclass(slots=True)
class TlsServer:
    """A server as mod_ssl starts it: *id* is ``name:port``, *engine* the mode that applies to it.

    Attributes:
        files: certificates with their keys: those of the settings, then those of other modules.
        may_renegotiate: a request may need a further handshake: one to a section of this server, or to
            another server.
    """

    server: Server
    conf: SslServerConfig
    id: str
    engine: str
    files: list[tuple[str, str]] = field(default_factory=list)
    pairs: list[KeyPair] = field(default_factory=list)
    stapling: Stapling | None = None
    may_renegotiate: bool = False
    mismatched: bool = False  # a key does not belong to its certificate, which 2.2 finds out late


def engine_of(configuration: Configuration, server: Server) -> str:
    """Return SSLEngine of *server*; 2.4: on for Listen with https and certificates."""
    conf = server.config(SslServerConfig)
    if configuration.dialect.engine_not_inherited:
        return conf.engine if conf.engine_of_host or not server.is_virtual else OFF
    record = server.records.get(SslServerConfig)
    is_unset = record is None or record.engine is UNSET
    if is_unset and conf.certificates and _protocol(configuration, server) == "https":
        return ON
    return conf.engine


def _protocol(configuration: Configuration, server: Server) -> str:
    """Return the protocol of the listener that a virtual host belongs to."""
    listeners = configuration.spec.listeners
    for address in server.addresses:
        for listener in listeners:
            if (listener.address, listener.port) == (address.host, address.port):
                return str(listener.protocol)
    for address in server.addresses:
        for listener in listeners:
            if listener.port == address.port:
                return str(listener.protocol)
    return ""


def tls_servers(configuration: Configuration) -> list[TlsServer]:
    """Return all servers, the main one first."""
    found = []
    for server in configuration.servers():
        engine = engine_of(configuration, server)
        port = server.port or (HTTPS_PORT if engine == ON else HTTP_PORT)
        found.append(TlsServer(server, server.config(SslServerConfig), f"{server.name}:{port}", engine))
    return found


def backend_settings(server: Server) -> SslProxyDirConfig:
    """Return the settings of connections to back ends outside of sections."""
    record = server.defaults.records.get(SslProxyDirConfig)
    return with_defaults(SslProxyDirConfig() if record is None else record)


def section_settings(server: Server) -> list[SslProxyDirConfig]:
    """Return those of the <Proxy> sections of a server, over the server's."""
    base = server.defaults.records.get(SslProxyDirConfig)
    sections = server.config(SslServerConfig).backend_sections
    return [with_defaults(section if base is None else merge(base, section)) for section in sections]


def start(configuration: Configuration) -> None:
    """Check all servers, as httpd does before it has workers; raises PostConfigError or StartError."""
    servers = tls_servers(configuration)
    if servers[0].conf.fips:
        raise StartError("whimbrel: SSLFIPS On: Python's library can't enable the FIPS mode of OpenSSL")
    uses_tls = any(each.engine != OFF for each in servers)
    backends = [conf for each in servers for conf in _backends(each)]
    if uses_tls or backends:
        _require_library()
        _run(configuration, servers)
    else:
        _emit(configuration, servers, [])


def _backends(each: TlsServer) -> list[SslProxyDirConfig]:
    return [conf for conf in (backend_settings(each.server), *section_settings(each.server)) if conf.engine]


def _require_library() -> None:
    if find_spec("cryptography") is None:
        raise MissingPackage("mod_ssl", "tls")


def _run(configuration: Configuration, servers: list[TlsServer]) -> None:
    """Read certificates and keys, check contexts, and make those of connections to back ends."""
    from whimbrel.modules.ssl.mod_ssl import server_checks, start_messages
    from whimbrel.modules.ssl.mod_ssl.backend_contexts import prepare
    from whimbrel.modules.ssl.mod_ssl.compatibility import HOSTS
    from whimbrel.modules.ssl.mod_ssl.contexts import refuse_unsupported
    from whimbrel.modules.ssl.mod_ssl.hosts import Hosts

    dialect = configuration.dialect
    lines: list[Line] = []
    before: list[Line] = []
    _find_files(configuration, servers, lines)
    try:
        if dialect.tls_start_22:
            server_checks.read_keys_22(dialect, servers)
            before = _missing_cache(configuration, servers)
        server_checks.check(dialect, servers, lines)
        for each in servers:
            first = len(lines)
            prepare(configuration, _backends(each), each.id, lines)
            start_messages.about(each.server, lines, first)
    except start_messages.StartFailure as problem:
        raise start_messages.refusal(dialect, before + lines, problem) from None
    pairs = {id(each.server): each.pairs for each in servers}
    configuration.modules.register_provider("ssl", KEY_PAIRS, pairs)
    enabled = [each for each in servers if each.engine == ON]
    for each in enabled:
        refuse_unsupported(each.conf)
        each.server.scheme = "https"
    for each in enabled:
        if each.conf.stapling:
            first = len(lines)
            lines += _start_stapling(each)
            start_messages.about(each.server, lines, first)
    if enabled:
        configuration.modules.register_provider("ssl", HOSTS, Hosts(configuration, servers))
    _emit(configuration, servers, lines)


def _find_files(configuration: Configuration, servers: list[TlsServer], lines: list[Line]) -> None:
    """Find the files with certificates and keys of all servers with TLS (ssl_add_cert_files)."""
    suppliers = configuration.modules.providers(SUPPLIERS).values()
    for each in servers:
        if each.engine == OFF:
            continue
        own = each.conf.certificates
        keys = each.conf.keys
        each.files = [(file, keys[at] if at < len(keys) else file) for at, file in enumerate(own)]
        for supply in suppliers:
            each.files += supply(configuration, each.server, fallback=False)
        if not each.files:
            each.files = [
                pair for supply in suppliers for pair in supply(configuration, each.server, fallback=True)
            ]
            if each.files:
                lines.append(Line("warn", "AH10085", _UNAVAILABLE.format(each.id)))


def _start_stapling(each: TlsServer) -> list[Line]:
    """Prepare the responses for the certificates of a server; return the lines about those without."""
    from whimbrel.modules.ssl.mod_ssl.key_files import certificates, read
    from whimbrel.modules.ssl.mod_ssl.stapling import Stapling

    conf = each.conf
    lines = []
    authorities = certificates(read(conf.ca_file)) if conf.ca_file else []
    each.stapling = Stapling(conf.stapling_settings, str(conf.ocsp_settings.get("proxy", "")))
    for index, key_pair in enumerate(each.pairs):
        problems = each.stapling.add(key_pair, authorities, each.id)
        if problems:
            text = f"Unable to configure certificate {each.id}:{index} for stapling"
            lines += [*problems, Line("error", "AH02604", text)]
    return lines


def _missing_cache(configuration: Configuration, servers: list[TlsServer]) -> list[Line]:
    """Return the warning about a missing session cache; 2.2 has none for SSLSessionCache none."""
    cache = servers[0].conf.session_cache
    if cache and not (cache == "none" and not configuration.dialect.tls_start_22):
        return []
    return [Line("warn", "AH01873", _NO_CACHE)]


def _emit(configuration: Configuration, servers: list[TlsServer], lines: list[Line]) -> None:
    """Record the messages of both runs: 2.4 misses a cache in the second one, 2.2 in the first one."""
    old = configuration.dialect.tls_start_22
    lines = lines + _conflicts(configuration, servers)
    cache = _missing_cache(configuration, servers)
    first = (Stage.FIRST_RUN, cache + lines if old else lines)
    second = (Stage.EVERY_RUN, lines if old else cache + lines)
    for stage, run in (first, second):
        for line in run:
            configuration.warn(
                line.text,
                code=line.code,
                level=line.level,
                module=MODULE,
                stage=stage,
                server=line.server,
            )


def _conflicts(configuration: Configuration, servers: list[TlsServer]) -> list[Line]:
    """Return the warnings about ports and addresses (ssl_init_CheckServers)."""
    lines = []
    for each in servers:
        if each.engine == ON and each.server.port == HTTP_PORT:
            text = f"Init: ({each.id}) You configured HTTPS(443) on the standard HTTP(80) port!"
            lines.append(Line("warn", "AH01915", text))
        if each.engine == OFF and each.server.port == HTTPS_PORT:
            text = f"Init: ({each.id}) You configured HTTP(80) on the standard HTTPS(443) port!"
            lines.append(Line("warn", "AH01916", text))
    if configuration.dialect.tls_start_22:
        hosts = [each.server.addresses[0] for each in servers if each.engine == ON and each.server.addresses]
        if len({(address.host, address.port) for address in hosts}) < len(hosts):
            lines.append(Line("warn", "", _NO_SNI))
    return lines
