"""mod_remoteip: the client's address as reported by trusted proxies.

`Connection.useragent_ip` holds the address until the request is logged.
"""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

from whimbrel.base.errors import ConfigError
from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.net import InvalidNetwork, Network, Networks, parse_network, parse_written
from whimbrel.base.numbers import is_digits, lower, strip
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Context, Setter, Versions
from whimbrel.directives.tokens import words as split_words
from whimbrel.modules.support.setters import own, set_text, set_value
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Provider, Scope
from whimbrel.registry.phases import DECLINED, LOG_TRANSACTION, OK, POST_READ_REQUEST, HookStatus
from whimbrel.registry.settings import appended, setting

if TYPE_CHECKING:
    from whimbrel.config.configuration import Configuration
    from whimbrel.engine.request import Request

_PRIVATE = Networks(
    map(parse_written, ("10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"))
)
_GLOBAL = Networks([parse_written("2000::/3")])
_LINK_LOCAL = Networks([parse_written("fe80::/10")])
_BLANKS = " \t\n\v\f\r"  # which inet_aton takes for the end of an address
_ANY = ("*", "_default_", "0.0.0.0", "::")
_UNKNOWN_NAME = "(EAI 2)Name or service not known"


class ProxyProtocolSwitch:
    """One line RemoteIPProxyProtocol, which concerns the addresses of the server that has it."""

    __slots__ = ("is_on",)

    def __init__(self, is_on: bool) -> None:
        self.is_on = is_on


@dataclass(slots=True)
class RemoteIpServerConfig:
    """Per-server settings; *proxies* are (network, is it internal), the first match counts; *switch* may be
    inherited, and is the main server's own object then.
    """

    header: str | None = setting(None)
    proxies_header: str | None = setting(None)
    proxies: list[tuple[Network, bool]] = setting(make=list, merge=appended)
    switch: ProxyProtocolSwitch | None = setting(None)
    exceptions: list[Network] = setting(make=list, merge=appended)


# setters ------------------------------------------------------------------------------------------
def _networks(word: str, where: str) -> list[Network]:
    """Return the network that *word* names, or the addresses of the host."""
    host, slash, mask = word.partition("/")
    try:
        return [parse_network(host, mask if slash else None)]
    except InvalidNetwork as problem:
        reason = problem.reason
    if reason:
        raise ConfigError(f"RemoteIP: Error parsing IP {word} ({reason} error) for {where}")
    if slash:
        raise ConfigError(f"RemoteIP: Error parsing IP {word} the subnet /{mask} is invalid for {where}")
    try:
        addresses = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except socket.gaierror as lost:
        raise ConfigError(f"RemoteIP: Error parsing IP {word} ({lost.strerror} error) for {where}") from None
    except (OSError, UnicodeError):
        raise ConfigError(
            f"RemoteIP: Error parsing IP {word} (Name or service not known error) for {where}"
        ) from None
    return [parse_network(str(address[4][0])) for address in addresses]


def _add_proxy(internal: bool) -> Setter:
    def apply(cmd: Command, conf: RemoteIpServerConfig, words: list[str]) -> None:
        conf.proxies = [*own(conf, "proxies", list), *((n, internal) for n in _networks(words[0], cmd.name))]

    return apply


def _add_list(internal: bool) -> Setter:
    def apply(cmd: Command, conf: RemoteIpServerConfig, words: list[str]) -> None:
        path = cmd.server_path(words[0])
        try:
            lines = to_text(read_regular(to_bytes(path))).split("\n")
        except OSError as problem:
            raise ConfigError(
                f"{cmd.name}: Could not open file {path}: {os.strerror(problem.errno or 0)}"
            ) from None
        networks = []
        for number, line in enumerate(lines, 1):
            for word in split_words(strip(line)):
                if word.startswith("#"):
                    break
                networks += _networks(word, f"{cmd.name} at line {number} of {path}")
        conf.proxies = [*own(conf, "proxies", list), *((n, internal) for n in networks)]

    return apply


def add_exceptions(_cmd: Command, conf: RemoteIpServerConfig, words: list[str]) -> None:
    """RemoteIPProxyProtocolExceptions: networks whose connections have no PROXY header."""
    if not words or not words[0]:
        raise ConfigError("RemoteIPProxyProtocolExceptions requires an argument")
    for word in words:
        try:
            conf.exceptions = [*own(conf, "exceptions", list), parse_written(word)]
        except InvalidNetwork as problem:
            reason = f": {problem.reason}" if problem.reason else ""
            raise ConfigError(
                f"ip address '{word.partition('/')[0]}' appears to be invalid{reason}"
            ) from None


class ProxiedAddresses:
    """The addresses whose connections begin with a PROXY header, by (host, port); a host of "" stands for any
    and a port of 0 for all. Those of an Off count before all others, and exceptions of any server everywhere
    (remoteip_hook_pre_connection).
    """

    def __init__(self, configuration: Configuration) -> None:
        self._by_address: dict[tuple[str, int], bool] = {}
        exceptions: list[Network] = []
        main: ProxyProtocolSwitch | None = None
        for server in configuration.servers():
            conf: RemoteIpServerConfig = server.config(RemoteIpServerConfig)
            exceptions += conf.exceptions
            if conf.switch is None or (server.is_virtual and conf.switch is main):
                continue
            if not server.is_virtual:
                main = conf.switch
                self._by_address["", 0] = main.is_on
            for address in server.addresses if server.is_virtual else ():
                host = "" if address.host in _ANY else address.host
                self._by_address[host, address.port] = conf.switch.is_on
        self._exceptions = Networks(exceptions)

    @property
    def is_used(self) -> bool:
        """Return True if connections to some address begin with a header."""
        return any(self._by_address.values())

    def expects(self, host: str, port: int, client: str) -> bool:
        """Return True if a connection of *client* to an address must begin with a header."""
        keys = ((host, port), (host, 0), ("", port), ("", 0))
        known = [self._by_address[key] for key in keys if key in self._by_address]
        return bool(known) and all(known) and client not in self._exceptions


# hooks --------------------------------------------------------------------------------------------
def _plain(text: str) -> str | None:
    """Return the normalized address, None if it is invalid; IPv4 as C's inet_aton reads it (``1.2.3`` is
    1.2.0.3), but alone, also where an IPv6 address maps it (RFC 4291, 2.5.5.2).
    """
    try:
        if "%" in text:
            return _scoped(text)
        if ":" in text:
            shown = socket.inet_ntop(socket.AF_INET6, socket.inet_pton(socket.AF_INET6, text))
            return shown.removeprefix("::ffff:") if "." in shown else shown
        is_numeric = is_digits(text[:1]) and not any(blank in text for blank in _BLANKS)
        return socket.inet_ntoa(socket.inet_aton(text)) if is_numeric else None
    except (OSError, ValueError):
        return None


def _scoped(text: str) -> str:
    """Return an IPv6 address with a zone, which stays where it names an interface of a link-local address
    (apr_sockaddr_ip_get). Raises OSError if C's getaddrinfo refuses it; no name is looked up.
    """
    host = to_bytes(text)  # which needs no codec for names
    found = socket.getaddrinfo(host, None, socket.AF_INET6, socket.SOCK_STREAM, 0, socket.AI_NUMERICHOST)
    shown = str(found[0][4][0]).partition("%")[0]
    scope = found[0][4][-1]
    if shown in _LINK_LOCAL and isinstance(scope, int) and scope:
        try:
            return f"{shown}%{socket.if_indextoname(scope)}"
        except OSError:
            return shown
    return shown


def _is_public(address: str) -> bool:
    return address in _GLOBAL if ":" in address else address not in _PRIVATE


class AddressChain:
    """The addresses of a field, evaluated from the last proxy to the client."""

    def __init__(self, address: str, field: str) -> None:
        self.address = address
        self.rest = field
        self.left: str | None = field
        self.proxies: list[str] = []
        self.moved = False

    def go(self, lists: list[tuple[Networks, bool]]) -> str:
        """Evaluate addresses as long as proxies are trusted; return the reason for the stop, for the log."""
        internal = False
        while self.left is not None:
            if lists:
                known = next((kind for networks, kind in lists if self.address in networks), None)
                if known is None:
                    return ""
                internal = known
            before, comma, last = self.left.rpartition(",")
            word = last.strip(" ")
            if not word:
                return ""
            address = _plain(word)
            if address is None:
                return f"value of {word} cannot be parsed as a client IP"
            if not internal and not _is_public(address):
                return f"value of {word} appears to be a private IP or nonsensical.  Ignored"
            if not internal:
                self.proxies.append(self.address)
            self.address = address
            self.moved = True
            self.left = before if comma else None
        return ""


def _as_announced(r: Request) -> HookStatus:
    """Use the address that the PROXY header announced; fields are ignored."""
    # the connection's own address is the key of the cache, so a cached response could be sent to another
    # client
    r.set_uncacheable()
    if r.connection.proxied is not None:
        r.connection.useragent_ip, r.connection.user_port = r.connection.proxied
    return OK


def make_address(scope: Scope) -> CompiledHook | None:
    """Read the address from the field; the unused rest stays in it.

    An internal redirect runs the hook again: it starts with the address that the first run determined.
    """
    conf = scope.server_config(RemoteIpServerConfig)
    if conf.header is None:
        return CompiledHook(_as_announced) if conf.switch is not None else None
    name = conf.header
    proxies_header = conf.proxies_header
    is_switched = conf.switch is not None
    lists = [(Networks([network]), internal) for network, internal in conf.proxies]

    def find(r: Request) -> HookStatus:
        if is_switched or r.connection.proxied is not None:
            _as_announced(r)
        if r.connection.proxied is not None:
            return OK
        if r.prev is None:
            r.connection.useragent_ip = ""
        field = r.headers_in.get(name)
        if field is None:
            return OK
        r.set_uncacheable()
        walk = AddressChain(r.connection.useragent_ip or r.connection.client_ip, field)
        stopped = walk.go(lists)
        if stopped:
            code = "AH01568" if "parsed" in stopped else "AH01569"
            cause = _UNKNOWN_NAME if "parsed" in stopped else ""
            r.log("debug", f"RemoteIP: Header {name} {stopped}", code=code, module="remoteip", cause=cause)
        if not walk.moved:
            return OK
        r.connection.useragent_ip = walk.address
        r.connection.user_port = 0
        r.headers_in = r.headers_in.copy()
        if walk.left is None:
            r.headers_in.unset(name)
        else:
            r.headers_in.set(name, walk.left)
        if walk.proxies:
            via = ", ".join(walk.proxies)
            r.notes["remoteip-proxy-ip-list"] = via
            if proxies_header is not None:
                r.headers_in.set(proxies_header, via)
        return OK

    return CompiledHook(find)


def make_reset(scope: Scope) -> CompiledHook | None:
    """Reset the address before the next request on the connection."""
    if scope.server_config(RemoteIpServerConfig).header is None:
        return None

    def reset(r: Request) -> HookStatus:
        proxied = r.connection.proxied  # which counts for virtual hosts without directives too
        r.connection.useragent_ip = "" if proxied is None else proxied[0]
        return DECLINED

    return CompiledHook(reset)


SERVER = Context.RSRC_CONF


MODULE = Module(
    name="remoteip_module",
    source="mod_remoteip.c",
    server_config=RemoteIpServerConfig,
    server_setters={
        "RemoteIPHeader": set_text("header"),
        "RemoteIPProxiesHeader": set_text("proxies_header"),
        "RemoteIPTrustedProxy": _add_proxy(False),
        "RemoteIPInternalProxy": _add_proxy(True),
        "RemoteIPTrustedProxyList": _add_list(False),
        "RemoteIPInternalProxyList": _add_list(True),
        "RemoteIPProxyProtocol": set_value("switch", lambda word: ProxyProtocolSwitch(lower(word) == "on")),
        "RemoteIPProxyProtocolExceptions": add_exceptions,
    },
    hooks=(
        Hook(POST_READ_REQUEST, make_address, Order.FIRST),
        Hook(LOG_TRANSACTION, make_reset, Order.REALLY_LAST),
    ),
    providers=(Provider("remoteip", "proxied_addresses", ProxiedAddresses),),
    versions=Versions.V24,
)
